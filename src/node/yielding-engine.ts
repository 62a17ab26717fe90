/** An embedding engine for work that can wait: it computes a few texts at a time, on few threads while others ask the node for something. */
import { setTimeout as sleep } from "node:timers/promises";
import { NodeError } from "../core/errors.ts";
import type { Embedding, EmbeddingEngine } from "../core/ports/embedding-engine.ts";

export interface YieldOptions {
  /** Whether a request is waiting or being answered. */
  isBusy: () => boolean;
  /** How many texts the engine computes at the same time. */
  threads: number;
  /** How long a request may hold it up at most, so that a node that is always busy gets there too; default: 5 s. */
  longestWaitMs?: number;
}

/** Texts that keep all threads busy; and while the node is asked, those that leave most of them to questions. */
const sliceSize = {
  quiet: (threads: number) => Math.max(4, threads),
  asked: (threads: number) => Math.max(1, Math.floor(threads / 4)),
};
/** How long after a request others are expected. */
const askedMs = 10_000;
const pollMs = 5;
const longestPauseMs = 100;

export function yieldingEngine(
  engine: EmbeddingEngine,
  { isBusy, threads, longestWaitMs = 5000 }: YieldOptions,
): EmbeddingEngine {
  let askedAt = Number.NEGATIVE_INFINITY;
  const quiet = async (signal: AbortSignal): Promise<void> => {
    const end = performance.now() + longestWaitMs;
    while (isBusy()) {
      askedAt = performance.now();
      if (askedAt >= end) return;
      await sleep(pollMs, undefined, { signal });
    }
  };
  const isAsked = (): boolean => performance.now() - askedAt < askedMs;
  return {
    dimension: engine.dimension,
    maxTokens: engine.maxTokens,
    vocabularySize: engine.vocabularySize,
    countTokens: (...asked) => engine.countTokens(...asked),
    async embed(inputs, options) {
      const embeddings: Embedding[] = [];
      while (embeddings.length < inputs.length) {
        await quiet(options.signal);
        const start = embeddings.length;
        const background = isAsked();
        const count = sliceSize[background ? "asked" : "quiet"](threads);
        const from = performance.now();
        const slice = inputs.slice(start, start + count);
        const computed = await engine.embed(slice, { ...options, background });
        if (computed.length === 0) throw new NodeError("internal", "Nothing was embedded.");
        embeddings.push(...computed);
        // Half of the time is left to questions: they find the threads free as often as not.
        const tookMs = Math.min(performance.now() - from, longestPauseMs);
        if (isAsked()) await sleep(tookMs, undefined, { signal: options.signal });
      }
      return embeddings;
    },
  };
}
