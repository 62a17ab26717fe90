/** Rate limits per caller: requests per minute, tokens per minute, and concurrent requests. */
import { type ErrorKind, NodeError } from "../errors.ts";
import type { Decision, Limiter } from "../ports/limiter.ts";

/** 0: no limit. */
export interface CallerLimits {
  requestsPerMinute: number;
  tokensPerMinute: number;
  concurrency: number;
}

export const noLimits: CallerLimits = { requestsPerMinute: 0, tokensPerMinute: 0, concurrency: 0 };

export interface LimitedCaller {
  /** Requests with the same id count together. */
  id: string;
  /** Its name in messages: "The key 'ada'". */
  called: string;
  limits: CallerLimits;
  /** Whether this request counts against the caller's concurrency; default: true. */
  takesPlace?: boolean;
}

export interface RateLimitStatus {
  requests?: RateLimit;
  tokens?: RateLimit;
}

/** A place among the caller's requests in progress; disposing of it releases the place, once. */
export type Lease = Disposable;

interface Usage {
  requests: TokenBucket;
  tokens: TokenBucket;
  active: number;
}

export class RateLimiter implements Limiter {
  readonly #now: () => number;
  readonly #usages = new Map<string, Usage>();
  #sweptAt: number;

  /** `now`: milliseconds of a clock that never jumps. */
  constructor(now: () => number) {
    this.#now = now;
    this.#sweptAt = now();
  }

  get size(): number {
    return this.#usages.size;
  }

  acquire(caller: LimitedCaller): Decision {
    const leases = new DisposableStack();
    try {
      leases.use(this.lease(caller));
    } catch (refused) {
      if (!(refused instanceof NodeError)) throw refused;
      return { refused, status: this.status(caller) };
    }
    return {
      status: () => this.status(caller),
      reserve: (answers) => {
        // A request that has ended must not take places.
        if (!leases.disposed) leases.use(this.leaseFor(answers, caller));
      },
      charge: (tokens) => this.charge(caller, tokens),
      [Symbol.dispose]: () => leases.dispose(),
    };
  }

  /** Throws if a limit is exceeded; with `isAdmitted`, another node has admitted the request, and it only counts. */
  lease(caller: LimitedCaller, { isAdmitted = false } = {}): Lease {
    this.#sweep();
    const { limits, takesPlace = true } = caller;
    const usage = this.#remember(caller);
    const { active, requests, tokens } = usage;
    const refused = refusalOf(caller, {
      active,
      requestsWaitMs: limits.requestsPerMinute > 0 ? requests.waitMs(1) : 0,
      tokensWaitMs: limits.tokensPerMinute > 0 ? tokens.waitMs(1) : 0,
    });
    if (refused !== undefined && !isAdmitted) throw refused;
    if (limits.requestsPerMinute > 0) requests.take(1);
    return leaseOf(usage, takesPlace ? 1 : 0);
  }

  /** A further lease for a request with several answers; throws if there are too many. */
  leaseFor(answers: number, caller: LimitedCaller, { isAdmitted = false } = {}): Lease {
    const usage = this.#remember(caller);
    const refused = tooManyAnswers(caller, { answers, active: usage.active });
    if (refused !== undefined && !isAdmitted) throw refused;
    return leaseOf(usage, answers - 1);
  }

  /** Counts used tokens; the bucket may be overdrawn, and the caller then waits longer. */
  charge(caller: LimitedCaller, tokens: number): void {
    if (caller.limits.tokensPerMinute > 0) this.#remember(caller).tokens.take(tokens);
  }

  status(caller: LimitedCaller): RateLimitStatus {
    const { requestsPerMinute, tokensPerMinute } = caller.limits;
    const { requests, tokens } = this.#usageOf(caller);
    return {
      ...(requestsPerMinute > 0 ? { requests: requests.status() } : {}),
      ...(tokensPerMinute > 0 ? { tokens: tokens.status() } : {}),
    };
  }

  #remember(caller: LimitedCaller): Usage {
    const usage = this.#usageOf(caller);
    this.#usages.set(caller.id, usage);
    return usage;
  }

  #usageOf({ id, limits }: LimitedCaller): Usage {
    const { requestsPerMinute, tokensPerMinute } = limits;
    const known = this.#usages.get(id);
    if (known === undefined) {
      return {
        requests: new TokenBucket(requestsPerMinute, this.#now),
        tokens: new TokenBucket(tokensPerMinute, this.#now),
        active: 0,
      };
    }
    known.requests.limit = requestsPerMinute;
    known.tokens.limit = tokensPerMinute;
    return known;
  }

  /** Drops callers that no longer differ from new ones; once a minute, the time a bucket takes to fill. */
  #sweep(): void {
    const now = this.#now();
    if (now - this.#sweptAt < minuteMs) return;
    this.#sweptAt = now;
    for (const [id, { active, requests, tokens }] of this.#usages) {
      if (active === 0 && requests.isFull && tokens.isFull) this.#usages.delete(id);
    }
  }
}

function leaseOf(usage: Usage, places: number): Lease {
  usage.active += places;
  const lease = new DisposableStack();
  lease.defer(() => {
    usage.active -= places;
  });
  return lease;
}

/** A caller's usage, counted by this node or by several together. */
export interface Standing {
  active: number;
  /** How long until one more request is allowed; 0: now. */
  requestsWaitMs: number;
  tokensWaitMs: number;
}

/** A guess: when an answer in progress will end is not known. */
const placeRetryMs = 1000;

export function refusalOf(
  { called, limits, takesPlace = true }: LimitedCaller,
  { active, requestsWaitMs, tokensWaitMs }: Standing,
): NodeError | undefined {
  const { concurrency, requestsPerMinute, tokensPerMinute } = limits;
  if (takesPlace && concurrency > 0 && active >= concurrency) {
    const why = `${called} may have ${concurrency} requests in progress at once, and has ${active}. ${whenEnded}`;
    return refusal("too_many_requests", placeRetryMs, why);
  }
  if (requestsWaitMs > 0) {
    const why = `${called} may make ${requestsPerMinute} requests a minute. ${tryAgain(requestsWaitMs)}`;
    return refusal("too_many_requests", requestsWaitMs, why);
  }
  if (tokensWaitMs > 0) {
    const why = `${called} may use ${tokensPerMinute} tokens a minute, and has used them. ${tryAgain(tokensWaitMs)}`;
    return refusal("too_many_tokens", tokensWaitMs, why);
  }
  return undefined;
}

/** Why a request, which already has one place, may not have so many answers; undefined if it may. */
export function tooManyAnswers(
  { called, limits: { concurrency } }: LimitedCaller,
  { answers, active }: { answers: number; active: number },
): NodeError | undefined {
  const wanted = active + answers - 1;
  if (concurrency === 0) return undefined;
  if (answers > concurrency) {
    const why = `The request asks for ${answers} answers at a time ('n', 'best_of' or several prompts); ${called} may have ${concurrency} in progress at once.`;
    return new NodeError("invalid_request", why, { param: "n" });
  }
  if (wanted <= concurrency) return undefined;
  const why = `${called} may have ${concurrency} answers in progress at once; with the ${answers} of this request there would be ${wanted}. ${whenEnded}`;
  return refusal("too_many_requests", placeRetryMs, why);
}

const whenEnded = "Try again when one has ended.";

const tryAgain = (ms: number): string => `Try again in ${Math.ceil(ms / 1000)} s.`;

const refusal = (kind: ErrorKind, retryAfterMs: number, why: string): NodeError =>
  new NodeError(kind, `Rate limit reached. ${why}`, { retryAfterMs });

export interface RateLimit {
  limit: number;
  remaining: number;
  resetMs: number;
}

const minuteMs = 60_000;
/** Rounding must not refuse a caller that waited exactly as long as it was told. */
const rounding = 1e-6;

export function waitMsFor(limit: number, used: number, amount: number): number {
  const missing = used + amount - limit;
  return missing <= rounding ? 0 : (missing * minuteMs) / limit;
}

export const rateLimitOf = (limit: number, used: number): RateLimit => ({
  limit,
  remaining: Math.max(0, Math.floor(limit - used + rounding)),
  resetMs: (used * minuteMs) / limit,
});

/** Holds up to its limit, and refills evenly over a minute; for requests, or tokens of a model. */
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
