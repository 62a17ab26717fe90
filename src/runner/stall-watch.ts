/** Notices a load that does not get on. */

export class StallWatch implements Disposable {
  readonly #mostMs: number;
  readonly #onStall: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `mostMs` 0: for ever. */
  constructor(mostMs: number, onStall: () => void) {
    this.#mostMs = mostMs;
    this.#onStall = onStall;
    this.moved();
  }

  moved(): void {
    clearTimeout(this.#timer);
    if (this.#mostMs > 0) this.#timer = setTimeout(this.#onStall, this.#mostMs);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
