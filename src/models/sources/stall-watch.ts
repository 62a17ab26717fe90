/** Fires when nothing happens for too long. */
export class StallWatch implements Disposable {
  readonly #controller = new AbortController();
  readonly #timer: Timer;

  constructor(mostMs: number) {
    this.#timer = setTimeout(() => this.#controller.abort(), mostMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Something happened. */
  reset(): void {
    this.#timer.refresh();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
