/** An embedding engine for work that can wait: it computes a few texts at a time, callers in turn, and none while others ask the node for something. */
import { untilAborted } from "../core/abort.ts";
import { NodeError } from "../core/errors.ts";
import type { Embedding, EmbeddingEngine } from "../core/ports/embedding-engine.ts";
import type { QuietTimes } from "./quiet-times.ts";

export interface YieldOptions {
  quiet: QuietTimes;
  /** How many texts are computed at a time while nobody asks. */
  texts: number;
  /** Whether they have one thread also then, and let others go first; default: only while others ask. */
  isBackground?: boolean;
}

/** How long after a request others are expected: a quarter of the texts leaves most threads to them. */
const askedMs = 10_000;

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
