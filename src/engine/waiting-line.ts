/** Who waits for a slot: bounded, first come first served for each caller, and callers in turn. */

export class WaitingLine<Waiter> {
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

  join(caller: string, waiter: Waiter): void {
    const waiters = this.#callers.get(caller) ?? new Set();
    this.#callers.set(caller, waiters.add(waiter));
    this.#size++;
  }

  leave(caller: string, waiter: Waiter): void {
    const waiters = this.#callers.get(caller);
    if (waiters?.delete(waiter) !== true) return;
    this.#size--;
    if (waiters.size === 0) this.#callers.delete(caller);
  }

  /** Takes whose turn it is. */
  next(): Waiter | undefined {
    for (const [caller, waiters] of this.#callers) {
      for (const waiter of waiters) {
        this.leave(caller, waiter);
        // The caller goes behind the others, with whoever of its own still waits.
        if (this.#callers.delete(caller)) this.#callers.set(caller, waiters);
        return waiter;
      }
    }
    return undefined;
  }
}
