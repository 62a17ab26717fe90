/** A reranking model (cross-encoder) on llama.cpp: scores how well a passage fits a question. */
import type { LlamaModel, LlamaRankingContext, Token } from "node-llama-cpp";
import type { LoadStage } from "../core/models/engine-backends.ts";
import type { LoadedModel, ModelSettings } from "../core/models/model.ts";
import type { Ranking, RankOptions, Reranker } from "../core/ports/reranker.ts";
import { mostQuestionTokens, questionTooLong } from "../core/reranking/question-length.ts";
import type { Backend } from "./backend.ts";
import { card, contextSize, type FittedSpec, fingerprintOf } from "./fitted-model.ts";
import { partsOf } from "./passage-parts.ts";
import { proveReranker } from "./prove-model.ts";
import { ContextPool } from "./scheduling/context-pool.ts";
import { InputTokens } from "./tokenizer/input-tokens.ts";

export async function asReranker(
  backend: Backend,
  model: LlamaModel,
  spec: FittedSpec,
  createdAt: Date,
  onStage: (stage: LoadStage) => void,
): Promise<LoadedModel> {
  const size = contextSize(model, spec);
  const create = (): Promise<LlamaRankingContext> =>
    model.createRankingContext({ contextSize: size, batchSize: size, threads: 1 });
  const contexts = await Promise.all(Array.from({ length: backend.threads }, create));
  onStage("trial");
  const engine = new LlamaReranker(model, contexts, size);
  await proveReranker(engine);
  onStage("model");
  const settings: ModelSettings = {
    ...spec.settings,
    ctxSize: size,
    batchSize: size,
    nGpuLayers: model.gpuLayers,
  };
  return {
    type: "reranker",
    card: card(model, spec, settings, createdAt),
    engine,
    fingerprint: await fingerprintOf(backend, spec, settings, "none"),
    async [Symbol.asyncDispose]() {
      await engine.close();
      await model.dispose();
    },
  };
}

/** A question with a passage, or with a part of a long one. */
interface Pair {
  question: Token[];
  passage: Token[];
}

class LlamaReranker implements Reranker {
  readonly maxTokens: number;
  readonly #first: LlamaRankingContext | undefined;
  readonly #inputTokens: InputTokens;
  readonly #pool: ContextPool<LlamaRankingContext, Pair, number>;

  constructor(model: LlamaModel, contexts: readonly LlamaRankingContext[], maxTokens: number) {
    this.maxTokens = maxTokens;
    this.#first = contexts[0];
    this.#inputTokens = new InputTokens(model);
    this.#pool = new ContextPool({
      contexts,
      sizeOf: ({ passage }) => passage.length,
      compute: (context, { question, passage }) =>
        // A template may repeat the passage, which then does not fit after all.
        context.rank(question, passage, { onOverflow: "maxChunk" }),
    });
  }

  async rank(
    question: string,
    passages: readonly string[],
    { maxPassageTokens, cutsQuestion = false, ...options }: RankOptions,
  ): Promise<Ranking> {
    const { signal } = options;
    const asked = await this.#question(question, cutsQuestion, signal);
    const most = this.maxTokens - 1 - this.#lengthOf({ question: asked, passage: [] });
    const all = await this.#inputTokens.of(passages, { signal });
    const pairs: Pair[] = [];
    const owners: number[] = [];
    for (const [owner, tokens = []] of all.entries()) {
      for (const passage of partsOf(tokens.slice(0, maxPassageTokens), most)) {
        pairs.push({ question: asked, passage });
        owners.push(owner);
      }
    }
    const found = await this.#pool.run(pairs, options);
    // The best part of a passage counts.
    const scores = new Array<number>(passages.length).fill(0);
    for (const [at, owner] of owners.entries()) {
      scores[owner] = Math.max(scores[owner] ?? 0, found[at] ?? 0);
    }
    return { scores, tokens: pairs.reduce((sum, pair) => sum + this.#lengthOf(pair), 0) };
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #question(question: string, cuts: boolean, signal: AbortSignal): Promise<Token[]> {
    const half = mostQuestionTokens(this.maxTokens);
    const most = cuts ? Number.POSITIVE_INFINITY : half;
    const [tokens] = await this.#inputTokens.of([question], { most, signal });
    if (tokens !== undefined && (cuts || tokens.length <= half)) return tokens.slice(0, half);
    throw questionTooLong(tokens?.length, half);
  }

  #lengthOf({ question, passage }: Pair): number {
    return this.#first?.calculateInputLength(question, passage) ?? 0;
  }
}
