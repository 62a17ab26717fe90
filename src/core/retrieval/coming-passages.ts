/** Passages that are still being stored: what is said of them meanwhile, and who waits for them. */
import { untilAborted } from "../abort.ts";

/** How long a question waits for passages that are being stored: a right answer later is better than a wrong one now. */
const mostWaitMs = 10_000;
/** And how long after storing began: the handbook comes with its vectors and takes a second or two, or some more beside other work; anything slower may take minutes. */
const mostStoringMs = 60_000;

export class ComingPassages {
  #notice: string | undefined;
  #stored = Promise.withResolvers<void>();
  #waitUntil = 0;

  /** Undefined: all are stored. */
  get notice(): string | undefined {
    return this.#notice;
  }

  /** Reports that passages are still being stored; undefined: all are stored. */
  expect(notice: string | undefined): void {
    if (this.#notice === undefined && notice !== undefined) {
      this.#stored = Promise.withResolvers();
      this.#waitUntil = performance.now() + mostStoringMs;
    }
    this.#notice = notice;
    if (notice === undefined) this.#stored.resolve();
  }

  /** Waits until all are stored, for ten seconds at most; throws if the signal aborts. */
  async stored(signal: AbortSignal): Promise<void> {
    const waitMs = Math.min(mostWaitMs, this.#waitUntil - performance.now());
    if (this.#notice === undefined || waitMs <= 0) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    const stored = untilAborted(Promise.race([this.#stored.promise, late]), signal);
    await stored.finally(() => clearTimeout(timer));
  }
}
