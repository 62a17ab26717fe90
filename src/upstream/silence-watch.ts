/** Notices that nothing comes while somebody waits; the time in which nobody reads does not count. */

export class SilenceWatch implements Disposable {
  readonly #ms: number;
  readonly #onSilent: () => void;
  #since: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `ms` 0: no bound. It is waited for from now on. */
  constructor(ms: number, onSilent: () => void) {
    this.#ms = ms;
    this.#onSilent = onSilent;
    this.waits();
    if (ms > 0) this.#lookIn(ms);
  }

  waits(): void {
    this.#since = performance.now();
  }

  heard(): void {
    this.#since = undefined;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  /** One timer for all that comes, instead of one for each piece of it. */
  #lookIn(ms: number): void {
    this.#timer = setTimeout(() => {
      const since = this.#since ?? performance.now();
      const left = since + this.#ms - performance.now();
      if (left > 0) this.#lookIn(Math.ceil(left));
      else this.#onSilent();
    }, ms);
    this.#timer.unref();
  }
}
