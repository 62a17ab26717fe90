/** A token bucket: holds up to its limit, and refills evenly over a minute; for requests, or tokens of a model. */

export interface RateLimit {
  limit: number;
  remaining: number;
  /** Time until it is full again. */
  resetMs: number;
}

export const minuteMs = 60_000;
/** Rounding must not refuse a caller that waited exactly as long as it was told. */
const rounding = 1e-6;

/** How long until a bucket with this usage holds the amount; 0: now. */
export function waitMsFor(limit: number, used: number, amount: number): number {
  const missing = used + amount - limit;
  return missing <= rounding ? 0 : (missing * minuteMs) / limit;
}

export const rateLimitOf = (limit: number, used: number): RateLimit => ({
  limit,
  remaining: Math.max(0, Math.floor(limit - used + rounding)),
  resetMs: (used * minuteMs) / limit,
});

export class TokenBucket {
  /** Its capacity. A key's limit may change while its bucket is in use. */
  limit: number;
  readonly #now: () => number;
  /** What is missing until it is full; more than the limit if it is overdrawn. */
  #used = 0;
  #refilledAt: number;

  /** `now`: milliseconds of a clock that never jumps. */
  constructor(limit: number, now: () => number) {
    this.limit = limit;
    this.#now = now;
    this.#refilledAt = now();
  }

  get isFull(): boolean {
    return this.#refill() === 0;
  }

  take(amount: number): void {
    this.#used = this.#refill() + amount;
  }

  /** How long until it holds the amount; 0: now. */
  waitMs(amount: number): number {
    return waitMsFor(this.limit, this.#refill(), amount);
  }

  status(): RateLimit {
    return rateLimitOf(this.limit, this.#refill());
  }

  #refill(): number {
    const now = this.#now();
    this.#used = Math.max(0, this.#used - ((now - this.#refilledAt) * this.limit) / minuteMs);
    this.#refilledAt = now;
    return this.#used;
  }
}
