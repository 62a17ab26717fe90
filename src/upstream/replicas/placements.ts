/**
 * Where prompts went that did not go to their first choice. A conversation that was given to another
 * because its replica was busy has its beginning there, so its next turn goes there too.
 */

/** Each takes about 200 bytes. */
const defaultMost = 10_000;

export class Placements {
  readonly #most: number;
  /** In the order of their last use. */
  readonly #urls = new Map<string, string>();

  constructor(most = defaultMost) {
    this.#most = most;
  }

  get size(): number {
    return this.#urls.size;
  }

  /** Where the prompt went last; undefined: to its first choice, or nobody knows. */
  of(prefix: string): string | undefined {
    return this.#urls.get(prefix);
  }

  /** The prompt went to another than its first choice. */
  set(prefix: string, url: string): void {
    this.#urls.delete(prefix);
    this.#urls.set(prefix, url);
    if (this.#urls.size <= this.#most) return;
    const [oldest] = this.#urls.keys();
    if (oldest !== undefined) this.#urls.delete(oldest);
  }

  /** The prompt went to its first choice. */
  forget(prefix: string): void {
    this.#urls.delete(prefix);
  }
}
