/** Has native memory collected that the JavaScript collector cannot see. */

/** What may pile up between two collections. */
const mostBytes = 64 * 1024 * 1024;
/** llama.cpp keeps an id, a logit and a probability of every token while it samples. */
const bytesPerCandidate = 12;

/**
 * Each generation leaves a sampler behind whose native memory, some hundred kilobytes, is freed
 * only with its JavaScript wrapper, which looks like a few bytes to the collector. Counting it and
 * asking for a collection now and then keeps a busy node's memory flat.
 */
export class NativeGarbage {
  readonly #bytesPerSampler: number;
  #bytes = 0;

  constructor(vocabularySize: number) {
    this.#bytesPerSampler = vocabularySize * bytesPerCandidate;
  }

  /** A sampler has been left behind. */
  add(): void {
    this.#bytes += this.#bytesPerSampler;
    if (this.#bytes < mostBytes) return;
    this.#bytes = 0;
    // Whole and at once, some milliseconds: a collection in the background leaves them where they are.
    setImmediate(() => Bun.gc(true));
  }
}
