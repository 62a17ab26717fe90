/** A reranking model on llama.cpp: reads question and passage together, and says how well they fit. */
import type { LlamaModel, LlamaRankingContext } from "node-llama-cpp";
import { NodeError, reasonOf } from "../core/errors.ts";
import type { LoadStage } from "../core/models/engine-backends.ts";
import { rerankingContext } from "../core/models/model-memory.ts";
import type { Reranker } from "../core/ports/reranker.ts";
import type { Progress } from "../core/progress.ts";
import type { Backend } from "./backend.ts";
import { proveReranker } from "./prove-model.ts";

export async function loadReranker(
  backend: Backend,
  path: string,
  progress: Progress,
  onStage: (stage: LoadStage) => void = () => {},
): Promise<Reranker> {
  const step = progress.step("Loading the reranking model", 100, "percent");
  try {
    const model = await backend.llama.loadModel({
      modelPath: path,
      gpuLayers: backend.name === "cpu" ? 0 : "auto",
      onLoadProgress: (loaded) => step.update(Math.floor(loaded * 100)),
    });
    try {
      // Of what is read in parts the best part counts.
      const contextSize = rerankingContext(model.trainContextSize);
      const create = (): Promise<LlamaRankingContext> =>
        model.createRankingContext({ contextSize, batchSize: contextSize, threads: 1 });
      const contexts = await Promise.all(Array.from({ length: backend.threads }, create));
      onStage("trial");
      const reranker = new LlamaReranker(model, contexts);
      await proveReranker(reranker);
      step.finish();
      return reranker;
    } catch (error) {
      await model.dispose();
      throw error;
    }
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
    // A passage must have room beside the question.
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
