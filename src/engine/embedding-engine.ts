/** Embeddings on llama.cpp: a pool of contexts over one set of weights, one thread each. */
import type { LlamaEmbeddingContext, LlamaModel } from "node-llama-cpp";
import type { Embedding, EmbeddingEngine } from "../core/ports/embedding-engine.ts";

interface Job {
  text: string;
  signal: AbortSignal;
  resolve: (embedding: Embedding) => void;
  reject: (reason: unknown) => void;
}

export class LlamaEmbeddingEngine implements EmbeddingEngine {
  readonly dimension: number;
  readonly maxTokens: number;
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
    this.#counter = contexts[0];
    this.#idle = [...contexts];
  }

  countTokens(text: string): number {
    return this.#counter.calculateInputLength(text);
  }

  async embed(texts: readonly string[], { signal }: { signal: AbortSignal }): Promise<Embedding[]> {
    const embeddings = texts.map(
      (text) =>
        new Promise<Embedding>((resolve, reject) => {
          this.#queue.push({ text, signal, resolve, reject });
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
        job.resolve(await this.#compute(context, job.text));
      } catch (error) {
        job.reject(error);
      }
    }
    this.#idle.push(context);
  }

  async #compute(context: LlamaEmbeddingContext, text: string): Promise<Embedding> {
    const { vector } = await context.getEmbeddingFor(text);
    return { vector: toUnitLength(vector), tokens: this.countTokens(text) };
  }
}

function toUnitLength(vector: readonly number[]): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return Float32Array.from(vector, (value) => (length === 0 ? 0 : value / length));
}
