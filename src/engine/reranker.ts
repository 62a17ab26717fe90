/** A reranking model (cross-encoder) on llama.cpp: scores how well a passage fits a question. */
import type { LlamaModel, LlamaRankingContext } from "node-llama-cpp";
import { NodeError, reasonOf } from "../core/errors.ts";
import type { LoadStage } from "../core/models/engine-backends.ts";
import type { Reranker } from "../core/ports/reranker.ts";
import type { Progress } from "../core/progress.ts";
import type { Backend } from "./backend.ts";
import { loadWeights } from "./load-weights.ts";
import { rerankingContext } from "./machine/model-memory.ts";
import { proveReranker } from "./prove-model.ts";

export async function loadReranker(
  backend: Backend,
  path: string,
  progress: Progress,
  onStage: (stage: LoadStage) => void = () => {},
): Promise<Reranker> {
  const step = progress.step("Loading the reranking model", 100, "percent");
  try {
    const gpuLayers = backend.name === "cpu" ? 0 : "auto";
    return await loadWeights(backend, { modelPath: path, gpuLayers }, step, async (model) => {
      // A passage that does not fit is ranked in chunks, and its best chunk counts (`maxChunk` below).
      const contextSize = rerankingContext(model.trainContextSize);
      const create = (): Promise<LlamaRankingContext> =>
        model.createRankingContext({ contextSize, batchSize: contextSize, threads: 1 });
      const contexts = await Promise.all(Array.from({ length: backend.threads }, create));
      onStage("trial");
      const reranker = new LlamaReranker(model, contexts);
      await proveReranker(reranker);
      return reranker;
    });
  } catch (cause) {
    throw new NodeError(
      "unavailable",
      `The reranking model cannot be loaded: ${reasonOf(cause)}. [retrieval] reranker must name a GGUF of a reranking model.`,
      { cause },
    );
  }
}

class LlamaReranker implements Reranker {
  readonly #model: LlamaModel;
  readonly #contexts: readonly LlamaRankingContext[];

  constructor(model: LlamaModel, contexts: readonly LlamaRankingContext[]) {
    this.#model = model;
    this.#contexts = contexts;
  }

  async rank(
    question: string,
    passages: readonly string[],
    { signal }: { signal: AbortSignal },
  ): Promise<number[]> {
    // The question gets at most half of the context, so that a passage has room beside it.
    const half = Math.floor((this.#contexts[0]?.contextSize ?? 0) / 2);
    const asked = this.#model.tokenize(question).slice(0, half);
    const scores = new Array<number>(passages.length).fill(0);
    const waiting = passages.entries();
    await Promise.all(
      this.#contexts.map(async (context) => {
        for (const [at, passage] of waiting) {
          signal.throwIfAborted();
          scores[at] = await context.rank(asked, passage, { onOverflow: "maxChunk" });
        }
      }),
    );
    return scores;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#model.dispose();
  }
}
