/** An embedding engine for work that can wait: it computes a few texts at a time, while nobody else asks the node for anything. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Embedding, EmbeddingEngine } from "../core/ports/embedding-engine.ts";

export interface YieldOptions {
  /** Whether a request is waiting or being answered. */
  isBusy: () => boolean;
  /** How long a request may hold it up at most, so that a node that is always busy gets there too; default: 5 s. */
  longestWaitMs?: number;
}

/** So few that a question which comes meanwhile shares the threads for a moment only. */
const sliceSize = 4;
const pollMs = 50;

export function yieldingEngine(
  engine: EmbeddingEngine,
  { isBusy, longestWaitMs = 5000 }: YieldOptions,
): EmbeddingEngine {
  const quiet = async (signal: AbortSignal): Promise<void> => {
    const end = performance.now() + longestWaitMs;
    while (isBusy() && performance.now() < end) await sleep(pollMs, undefined, { signal });
  };
  return {
    dimension: engine.dimension,
    maxTokens: engine.maxTokens,
    vocabularySize: engine.vocabularySize,
    countTokens: (...asked) => engine.countTokens(...asked),
    async embed(inputs, options) {
      const embeddings: Embedding[] = [];
      for (let start = 0; start < inputs.length; start += sliceSize) {
        await quiet(options.signal);
        const slice = inputs.slice(start, start + sliceSize);
        embeddings.push(...(await engine.embed(slice, options)));
      }
      return embeddings;
    },
  };
}
