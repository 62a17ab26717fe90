/** llama.cpp's context of an embedding model, below node-llama-cpp's own queue. */
import type { LlamaEmbeddingContext, Token } from "node-llama-cpp";
import {
  internal,
  isAddMarkers,
  isObject,
  isRawContext,
  isThreadsSplitter,
  type RawContext,
  type ThreadsSplitter,
} from "./bindings.ts";
import { decodeBatch } from "./decode-batch.ts";

export class NativeEmbeddingContext {
  readonly #context: LlamaEmbeddingContext;
  readonly #raw: RawContext;
  readonly #splitter: ThreadsSplitter;
  readonly #addMarkers: (tokens: Token[]) => void;

  constructor(context: LlamaEmbeddingContext) {
    const { model } = context;
    this.#context = context;
    this.#raw = internal(internal(context, "_llamaContext", isObject), "_ctx", isRawContext);
    this.#splitter = internal(model.llama, "_threadsSplitter", isThreadsSplitter);
    this.#addMarkers = internal(context, "_prepareInput", isAddMarkers).bind(context);
  }

  /** The tokens with the special tokens that the model wants around a text. */
  withMarkers(tokens: readonly Token[]): Token[] {
    const marked = [...tokens];
    this.#addMarkers(marked);
    return marked;
  }

  /** The vector of a text with its special tokens, computed on at most so many threads; and how it was. */
  async embed(
    tokens: readonly Token[],
    most: number,
  ): Promise<{ vector: Float32Array; threads: number; ms: number }> {
    this.#raw.removeTokenCellsFromSequence(0, -1, -1);
    this.#raw.initBatch(tokens.length);
    this.#raw.addToBatch(0, 0, Uint32Array.from(tokens), Uint32Array.from(tokens.keys()));
    const consumer = this.#splitter.createConsumer(most, 1);
    try {
      const step = await decodeBatch(this.#raw, consumer, this.#context.model.llama.gpu);
      return { ...step, vector: Float32Array.from(this.#raw.getEmbedding(tokens.length)) };
    } finally {
      consumer.dispose();
    }
  }
}
