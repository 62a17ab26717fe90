/** Lets the event loop turn now and then amid long work of one's own, and ends the work where nobody wants it. */

/** How long the loop is kept from turning, but for a step. */
const turnMs = 10;

export class LoopTurns {
  readonly #signal: AbortSignal | undefined;
  #turnedAt = performance.now();

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** To be called after each step; throws the signal's reason. */
  async take(): Promise<void> {
    if (performance.now() - this.#turnedAt < turnMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#signal?.throwIfAborted();
    this.#turnedAt = performance.now();
  }
}
