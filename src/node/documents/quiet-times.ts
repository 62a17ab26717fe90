/** When work that can wait goes on: while nobody asks the node for something, and nobody did a second ago. */
import { setTimeout as sleep } from "node:timers/promises";
import { untilAborted } from "../../core/abort.ts";
import { NodeError } from "../../core/errors.ts";
import type { Embedding, EmbeddingEngine } from "../../core/ports/embedding-engine.ts";

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

  /** Waits for a moment without requests: a quiet one where it comes soon, else between two of them. */
  async waitForMoment(signal: AbortSignal): Promise<void> {
    await this.wait(signal);
    while (this.#isBusy()) await sleep(pollMs, undefined, { signal });
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

export interface YieldOptions {
  quiet: QuietTimes;
  /** How many texts are computed at a time while nobody asks. */
  texts: number;
  /** Whether they have one thread also then, and let others go first; default: only while others ask. */
  isBackground?: boolean;
}

/** How long after a request others are expected: a quarter of the texts leaves most threads to them. */
const askedMs = 10_000;

/** An embedding engine for work that can wait: it computes a few texts at a time, callers in turn, and none while others ask the node for something. */
export function yieldingEngine(
  engine: EmbeddingEngine,
  { quiet, texts, isBackground = false }: YieldOptions,
): EmbeddingEngine {
  let last: Promise<unknown> = Promise.resolve();
  /** Runs work after all that was begun before it. */
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(work);
    last = result.catch(() => {});
    return result;
  };
  return {
    dimension: engine.dimension,
    maxTokens: engine.maxTokens,
    vocabularySize: engine.vocabularySize,
    countTokens: (...asked) => engine.countTokens(...asked),
    async embed(inputs, options) {
      const embeddings: Embedding[] = [];
      const computeSome = async (): Promise<readonly Embedding[]> => {
        options.signal.throwIfAborted();
        await quiet.wait(options.signal);
        const isAsked = quiet.askedWithin(askedMs);
        const count = isAsked ? Math.max(1, Math.floor(texts / 4)) : texts;
        const slice = inputs.slice(embeddings.length, embeddings.length + count);
        const background = isAsked || isBackground;
        return await engine.embed(slice, { ...options, background });
      };
      while (embeddings.length < inputs.length) {
        // Who gives up does not wait for the turns of others.
        const computed = await untilAborted(inTurn(computeSome), options.signal);
        if (computed.length === 0) throw new NodeError("internal", "Nothing was embedded.");
        embeddings.push(...computed);
      }
      return embeddings;
    },
  };
}
