/** A time-out that is moved with every piece of a stream, and costs a timer only now and then. */

export class LazyTimer implements Disposable {
  readonly #onDue: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer that runs goes off. */
  #firesAt = Number.POSITIVE_INFINITY;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(onDue: () => void) {
    this.#onDue = onDue;
  }

  /** Calls back in so many milliseconds, and no longer when it was to before. */
  dueIn(ms: number): void {
    this.#dueAt = performance.now() + ms;
    // One that goes off too early looks again; only one that would be late is replaced.
    if (this.#dueAt < this.#firesAt) this.#run(ms);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#firesAt = Number.NEGATIVE_INFINITY;
  }

  #run(ms: number): void {
    clearTimeout(this.#timer);
    this.#firesAt = performance.now() + ms;
    this.#timer = setTimeout(() => {
      this.#firesAt = Number.POSITIVE_INFINITY;
      const left = this.#dueAt - performance.now();
      if (left > 0) {
        this.#run(Math.ceil(left));
        return;
      }
      this.#dueAt = Number.POSITIVE_INFINITY;
      this.#onDue();
    }, ms);
  }
}
