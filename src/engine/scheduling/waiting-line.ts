/**
 * Who waits for a slot: bounded, first come first served for each caller, and callers in turn. One
 * caller may fill the line; who comes to a full one takes the last place of whoever holds the most,
 * as long as that leaves them no less than the newcomer has (longest queue drop).
 */

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

  /** Whether there is a place for one more of a caller's, free or to be taken from another. */
  admits(caller: string): boolean {
    return !this.full || this.#loser(caller) !== undefined;
  }

  /** Returns who lost its place for that. */
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

  #drop(caller: string): Waiter | undefined {
    const loser = this.#loser(caller);
    const last = loser === undefined ? undefined : [...(this.#callers.get(loser) ?? [])].at(-1);
    if (loser !== undefined && last !== undefined) this.leave(loser, last);
    return last;
  }

  /** The caller with the most places, where it has more than this one would. */
  #loser(caller: string): string | undefined {
    let most = (this.#callers.get(caller)?.size ?? 0) + 1;
    let loser: string | undefined;
    for (const [other, { size }] of this.#callers) {
      if (size > most) [loser, most] = [other, size];
    }
    return loser;
  }
}
