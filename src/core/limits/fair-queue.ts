/** A bounded queue, round robin over callers. A newcomer to a full one takes the last place of the caller with the most. */
export class FairQueue<Waiter> {
  readonly #most: number;
  /** Each caller's waiters; the caller whose turn is next comes first. */
  readonly #callers = new Map<string, Set<Waiter>>();
  #size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  get full(): boolean {
    return this.#size >= this.#most;
  }

  /** Whether one more request of the caller has a place, free or taken from another caller. */
  admits(caller: string): boolean {
    return !this.full || this.#loser(caller) !== undefined;
  }

  join(caller: string, waiter: Waiter): Waiter | undefined {
    const lost = this.full ? this.#drop(caller) : undefined;
    const waiters = this.#callers.get(caller) ?? new Set();
    this.#callers.set(caller, waiters.add(waiter));
    this.#size++;
    return lost;
  }

  leave(caller: string, waiter: Waiter): void {
    const waiters = this.#callers.get(caller);
    if (waiters?.delete(waiter) !== true) return;
    this.#size--;
    if (waiters.size === 0) this.#callers.delete(caller);
  }

  /** `passedOver`: a caller that has no turn now. */
  next(passedOver?: string): Waiter | undefined {
    for (const [caller, waiters] of this.#callers) {
      if (caller === passedOver) continue;
      for (const waiter of waiters) {
        this.leave(caller, waiter);
        // Round robin: the caller goes to the end with its other waiters.
        if (this.#callers.delete(caller)) this.#callers.set(caller, waiters);
        return waiter;
      }
    }
    return undefined;
  }

  #drop(caller: string): Waiter | undefined {
    const loser = this.#loser(caller);
    const last = loser === undefined ? undefined : [...(this.#callers.get(loser) ?? [])].at(-1);
    if (loser !== undefined && last !== undefined) this.leave(loser, last);
    return last;
  }

  /** The caller with the most places, if that is more than this caller would have. */
  #loser(caller: string): string | undefined {
    let most = (this.#callers.get(caller)?.size ?? 0) + 1;
    let loser: string | undefined;
    for (const [other, { size }] of this.#callers) {
      if (size > most) [loser, most] = [other, size];
    }
    return loser;
  }
}
