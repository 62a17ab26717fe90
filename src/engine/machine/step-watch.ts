/**
 * What a process computes, as its heartbeats tell it: how many steps are done, and how long those in
 * progress usually take. A step is a batch of a chat model, or a text that is embedded or ranked.
 */

export interface StepReport {
  /** How many steps have ended since the process began. */
  finished: number;
  /** Of the steps in progress, what the longest usually takes; absent: nothing is in progress. */
  usualMs?: number;
}

/** Of an exponential moving average: how much the last step counts against those before. */
const weight = 0.3;
/** A step that takes longer by more than this, as where the process was stopped meanwhile, counts as this. */
const mostLonger = 10;

export class StepWatch {
  #finished = 0;
  /** Tokens of the steps in progress. */
  readonly #open = new Map<symbol, number>();
  /** What a step takes, by its size: all of up to twice as many tokens are one. */
  readonly #usual = new Map<number, number>();

  /** Runs a step of so many tokens; 0: what computes none, such as a copy of the cache, and is not timed. */
  async run<Result>(tokens: number, compute: () => Promise<Result>): Promise<Result> {
    const key = Symbol();
    const startedAt = performance.now();
    this.#open.set(key, tokens);
    try {
      const result = await compute();
      if (tokens > 0) this.#took(tokens, performance.now() - startedAt);
      return result;
    } finally {
      this.#open.delete(key);
      this.#finished++;
    }
  }

  report(): StepReport {
    const finished = this.#finished;
    if (this.#open.size === 0) return { finished };
    const usual = [...this.#open.values()].map((tokens) => this.#usualMs(tokens));
    return { finished, usualMs: Math.max(...usual) };
  }

  #took(tokens: number, ms: number): void {
    const size = sizeOf(tokens);
    const whole = (ms * 2 ** size) / tokens;
    const before = this.#usual.get(size) ?? whole;
    this.#usual.set(size, before + weight * (Math.min(whole, before * mostLonger) - before));
  }

  /** A size that was never seen is scaled from others. The quickest counts: the first step may have compiled something. */
  #usualMs(tokens: number): number {
    if (tokens === 0) return 0;
    const size = sizeOf(tokens);
    const own = this.#usual.get(size);
    if (own !== undefined) return own;
    const scaled = [...this.#usual].map(([seen, ms]) => ms * 2 ** Math.max(0, size - seen));
    return scaled.length === 0 ? 0 : Math.min(...scaled);
  }
}

const sizeOf = (tokens: number): number => Math.ceil(Math.log2(tokens));
