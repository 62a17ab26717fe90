/** Embeddings on llama.cpp: a pool of contexts over one set of weights, one thread each. */
import type { LlamaEmbeddingContext, LlamaModel, Token } from "node-llama-cpp";
import { toUnitLength } from "../core/embedding.ts";
import type { Embedding, EmbeddingEngine, EmbeddingInput } from "../core/ports/embedding-engine.ts";

interface Job {
  input: string | Token[];
  signal: AbortSignal;
  resolve: (embedding: Embedding) => void;
  reject: (reason: unknown) => void;
}

export class LlamaEmbeddingEngine implements EmbeddingEngine {
  readonly dimension: number;
  readonly maxTokens: number;
  readonly #vocabulary: readonly Token[];
  readonly #counter: LlamaEmbeddingContext;
  readonly #idle: LlamaEmbeddingContext[];
  readonly #queue: Job[] = [];

  constructor(
    model: LlamaModel,
    contexts: readonly [LlamaEmbeddingContext, ...LlamaEmbeddingContext[]],
    maxTokens: number,
  ) {
    this.dimension = model.embeddingVectorSize;
    this.maxTokens = maxTokens;
    this.#vocabulary = [...model.iterateAllTokens()];
    this.#counter = contexts[0];
    this.#idle = [...contexts];
  }

  get vocabularySize(): number {
    return this.#vocabulary.length;
  }

  countTokens(input: EmbeddingInput): number {
    return this.#counter.calculateInputLength(this.#known(input));
  }

  async embed(
    inputs: readonly EmbeddingInput[],
    { signal }: { signal: AbortSignal },
  ): Promise<Embedding[]> {
    const embeddings = inputs.map(
      (input) =>
        new Promise<Embedding>((resolve, reject) => {
          this.#queue.push({ input: this.#known(input), signal, resolve, reject });
        }),
    );
    this.#dispatch();
    return await Promise.all(embeddings);
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const context = this.#idle.pop();
      if (context === undefined) return;
      void this.#drain(context);
    }
  }

  async #drain(context: LlamaEmbeddingContext): Promise<void> {
    for (let job = this.#queue.shift(); job !== undefined; job = this.#queue.shift()) {
      try {
        job.signal.throwIfAborted();
        job.resolve(await this.#compute(context, job.input));
      } catch (error) {
        job.reject(error);
      }
    }
    this.#idle.push(context);
  }

  async #compute(context: LlamaEmbeddingContext, input: string | Token[]): Promise<Embedding> {
    const { vector } = await context.getEmbeddingFor(input);
    const tokens = this.#counter.calculateInputLength(input);
    return { vector: toUnitLength(Float32Array.from(vector)), tokens };
  }

  /** The input with its ids as the library's tokens. */
  #known(input: EmbeddingInput): string | Token[] {
    if (typeof input === "string") return input;
    return input.flatMap((id) => this.#vocabulary[id] ?? []);
  }
}
