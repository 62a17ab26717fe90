/** Yields to the event loop during long synchronous work, and stops the work where its signal is aborted. */

/** How long the event loop may be blocked before the next yield. */
const blockedMs = 10;

export class LoopYield {
  readonly #signal: AbortSignal | undefined;
  #yieldedAt = performance.now();

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** To be called after each step of the work; throws the signal's reason. */
  async yieldIfDue(): Promise<void> {
    if (performance.now() - this.#yieldedAt < blockedMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#signal?.throwIfAborted();
    this.#yieldedAt = performance.now();
  }
}
