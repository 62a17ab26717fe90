/** Schedules background work: it runs while the node has no requests, and had none for a second. */
import { setTimeout as sleep } from "node:timers/promises";
import { untilAborted } from "../../core/abort.ts";
import { NodeError } from "../../core/errors.ts";
import type { Embedding, EmbeddingEngine } from "../../core/ports/embedding-engine.ts";

export interface QuietOptions {
  /** Whether a request is waiting or being answered. */
  isBusy: () => boolean;
  /** How long after the last request to wait for another; default: 1 s. */
  quietMs?: number;
  /** Longest pause, so that work proceeds even on a node that is always busy; default: 5 s. */
  longestPauseMs?: number;
  /** How long it proceeds on a busy node after the longest pause; default: 0.5 s. */
  turnMs?: number;
}

const pollMs = 10;

export class QuietTimes {
  readonly #options: Required<QuietOptions>;
  #askedAt = Number.NEGATIVE_INFINITY;
  #turnEnd = Number.NEGATIVE_INFINITY;

  constructor(options: QuietOptions) {
    this.#options = { quietMs: 1000, longestPauseMs: 5000, turnMs: 500, ...options };
  }

  get isQuiet(): boolean {
    return !this.askedWithin(this.#options.quietMs);
  }

  /** Whether a request is in progress, or one was seen within `ms`; only calls of this method look. */
  askedWithin(ms: number): boolean {
    const now = performance.now();
    if (this.#options.isBusy()) this.#askedAt = now;
    return now - this.#askedAt < ms;
  }

  /** Waits for a quiet time, at most for the longest pause; in the turn after one, for nothing. */
  async wait(signal: AbortSignal): Promise<void> {
    const { longestPauseMs, turnMs } = this.#options;
    const end = performance.now() + longestPauseMs;
    while (performance.now() >= this.#turnEnd && !this.isQuiet) {
      if (performance.now() >= end) this.#turnEnd = performance.now() + turnMs;
      else await sleep(pollMs, undefined, { signal });
    }
  }

  /** Waits for a moment without requests: a quiet time if it comes soon, otherwise a gap between two. */
  async waitForMoment(signal: AbortSignal): Promise<void> {
    await this.wait(signal);
    while (this.#options.isBusy()) await sleep(pollMs, undefined, { signal });
  }

  /** Calls back when work has to pause or may go on, until disposed of. Initially, work may go on. */
  watch(onChange: (goesOn: boolean) => void): Disposable {
    let pausedAt: number | undefined;
    const { longestPauseMs, turnMs } = this.#options;
    let turnEnd = Number.NEGATIVE_INFINITY;
    const look = (): void => {
      const now = performance.now();
      const isHeldUp = pausedAt !== undefined && now - pausedAt >= longestPauseMs;
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
  /** How many texts to compute at a time while there are no requests. */
  texts: number;
  /** Whether to use one thread and let others go first even then; default: only during requests. */
  isBackground?: boolean;
}

/** How long after a request to expect others; until then, a quarter of the texts leaves them most threads. */
const askedMs = 10_000;

/** An embedding engine for background work: computes a few texts at a time, callers in turn, and pauses during requests. */
export function yieldingEngine(
  engine: EmbeddingEngine,
  { quiet, texts, isBackground = false }: YieldOptions,
): EmbeddingEngine {
  let last: Promise<unknown> = Promise.resolve();
  /** Runs work after all earlier work has ended. */
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(work);
    last = result.catch(() => {});
    return result;
  };
  return {
    dimension: engine.dimension,
    get maxTokens() {
      return engine.maxTokens;
    },
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
        // A caller that gives up does not wait for the turns of others.
        const computed = await untilAborted(inTurn(computeSome), options.signal);
        if (computed.length === 0) throw new NodeError("internal", "Nothing was embedded.");
        embeddings.push(...computed);
      }
      return embeddings;
    },
  };
}
