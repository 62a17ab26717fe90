/** Contexts of models that read a text at once, and compute a vector or a score of it. */
import type { LlamaEmbeddingContext, LlamaRankingContext, Token } from "node-llama-cpp";
import type { Packing } from "../scheduling/context-pool.ts";
import {
  internal,
  isAddMarkers,
  isObject,
  isRankingInput,
  isRawContext,
  type RawContext,
} from "./bindings.ts";
import { onThreads, threadsOf } from "./contexts.ts";

/** Texts are tokens with the special tokens that the model wants. */
export interface TextContext {
  /** Its jobs are texts, its sizes tokens. */
  readonly packing: Packing;
  /** On at most `most` threads. `mayWait`: this thread may wait for it, if it does not take long. */
  compute(
    texts: readonly (readonly Token[])[],
    most: number,
    mayWait?: boolean,
  ): Promise<ComputedTexts>;
}

export interface ComputedTexts {
  /** Of each text; a score is a vector of one number. */
  vectors: Float32Array[];
  threads: number;
  ms: number;
}

export const tokensOf = (texts: readonly (readonly Token[])[]): number =>
  texts.reduce((sum, tokens) => sum + tokens.length, 0);

/** The tokens with the special tokens that the model wants around a text. */
export function markersOf(context: LlamaEmbeddingContext): (tokens: readonly Token[]) => Token[] {
  const addMarkers = internal(context, "_prepareInput", isAddMarkers).bind(context);
  return (tokens) => {
    const marked = [...tokens];
    addMarkers(marked);
    return marked;
  };
}

export type RankingInput = (question: readonly Token[], passage: readonly Token[]) => Token[];

/** What the model reads for a question and a passage; nothing if both are empty. */
export const rankingInputOf = (context: LlamaRankingContext): RankingInput =>
  internal(context, "_getEvaluationInput", isRankingInput).bind(context);

/** llama.cpp's context of such a model, below node-llama-cpp's own queue. */
export class AddonTextContext implements TextContext {
  readonly packing = { mostJobs: 1, mostSize: Number.POSITIVE_INFINITY };
  readonly #context: LlamaEmbeddingContext | LlamaRankingContext;
  readonly #dimension: number;
  readonly #raw: RawContext;

  constructor(context: LlamaEmbeddingContext | LlamaRankingContext, dimension: number) {
    this.#context = context;
    this.#dimension = dimension;
    this.#raw = internal(internal(context, "_llamaContext", isObject), "_ctx", isRawContext);
  }

  async compute(texts: readonly (readonly Token[])[], most: number): Promise<ComputedTexts> {
    const [tokens = []] = texts;
    this.#raw.removeTokenCellsFromSequence(0, -1, -1);
    this.#raw.initBatch(tokens.length);
    this.#raw.addToBatch(0, 0, Uint32Array.from(tokens), Uint32Array.from(tokens.keys()));
    const { llama } = this.#context.model;
    using consumer = threadsOf(llama, most);
    const decode = (threads: number): Promise<void> => {
      this.#raw.setThreads(threads);
      return this.#raw.decodeBatch();
    };
    const { threads, ms } = await onThreads(consumer, decode, llama.gpu);
    const vector = this.#raw.getEmbedding(tokens.length, this.#dimension);
    return { threads, ms, vectors: [Float32Array.from(vector)] };
  }

  dispose(): Promise<void> {
    return this.#context.dispose();
  }
}
