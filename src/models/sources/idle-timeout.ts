/** Aborts its signal when `reset` is not called for too long. */
export class IdleTimeout implements Disposable {
  readonly #controller = new AbortController();
  readonly #timer: Timer;

  constructor(mostMs: number) {
    this.#timer = setTimeout(() => this.#controller.abort(), mostMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Called when something came: the time starts again. */
  reset(): void {
    this.#timer.refresh();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
