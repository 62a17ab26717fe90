/** When work that can wait goes on: while nobody asks the node for something, and nobody did a second ago. */
import { setTimeout as sleep } from "node:timers/promises";

export interface QuietOptions {
  /** Whether a request is waiting or being answered. */
  isBusy: () => boolean;
  /** How long after the last request the next one is expected; default: 1 s. */
  quietMs?: number;
  /** How long work is held up at most, so that a node that is always busy gets there too; default: 5 s. */
  longestPauseMs?: number;
}

const pollMs = 10;
/** How long work goes on while the node is busy, once it was held up for the longest pause. */
const turnMs = 500;

export class QuietTimes {
  readonly #isBusy: () => boolean;
  readonly #quietMs: number;
  readonly #longestPauseMs: number;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor({ isBusy, quietMs = 1000, longestPauseMs = 5000 }: QuietOptions) {
    this.#isBusy = isBusy;
    this.#quietMs = quietMs;
    this.#longestPauseMs = longestPauseMs;
  }

  get isQuiet(): boolean {
    return !this.askedWithin(this.#quietMs);
  }

  /** Whether somebody asks, or did so long ago at most, as far as anybody looked. */
  askedWithin(ms: number): boolean {
    const now = performance.now();
    if (this.#isBusy()) this.#askedAt = now;
    return now - this.#askedAt < ms;
  }

  /** Waits for a quiet time; no longer than the longest pause. */
  async wait(signal: AbortSignal): Promise<void> {
    const end = performance.now() + this.#longestPauseMs;
    while (!this.isQuiet && performance.now() < end) await sleep(pollMs, undefined, { signal });
  }

  /** Says when work has to pause and when it goes on, until it is disposed; it goes on at first. */
  watch(onChange: (goesOn: boolean) => void): Disposable {
    let pausedAt: number | undefined;
    let turnEnd = Number.NEGATIVE_INFINITY;
    const look = (): void => {
      const now = performance.now();
      const isHeldUp = pausedAt !== undefined && now - pausedAt >= this.#longestPauseMs;
      if (isHeldUp) turnEnd = now + turnMs;
      const goesOn = this.isQuiet || now < turnEnd;
      if (goesOn === (pausedAt === undefined)) return;
      pausedAt = goesOn ? undefined : now;
      onChange(goesOn);
    };
    const timer = setInterval(look, pollMs);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }
}
