/** Embeddings on llama.cpp: a pool of contexts over one set of weights, one thread each. */
import type { LlamaEmbeddingContext, LlamaModel, Token } from "node-llama-cpp";
import { toUnitLength } from "../core/embedding.ts";
import { NodeError } from "../core/errors.ts";
import type {
  Embedding,
  EmbeddingEngine,
  EmbeddingInput,
  EmbedOptions,
} from "../core/ports/embedding-engine.ts";
import { FairJobs } from "./fair-jobs.ts";
import { InputTokens } from "./input-tokens.ts";

interface Job {
  tokens: Token[];
  /** With the model's own markers. */
  size: number;
  signal: AbortSignal;
  start: () => void;
  resolve: (embedding: Embedding) => void;
  reject: (reason: unknown) => void;
}

export class LlamaEmbeddingEngine implements EmbeddingEngine {
  readonly dimension: number;
  readonly maxTokens: number;
  readonly #inputTokens: InputTokens;
  readonly #counter: LlamaEmbeddingContext;
  readonly #idle: LlamaEmbeddingContext[];
  readonly #jobs = new FairJobs<Job>();
  readonly #working = new Set<Promise<void>>();

  constructor(
    model: LlamaModel,
    contexts: readonly [LlamaEmbeddingContext, ...LlamaEmbeddingContext[]],
    maxTokens: number,
  ) {
    this.dimension = model.embeddingVectorSize;
    this.maxTokens = maxTokens;
    this.#inputTokens = new InputTokens(model);
    this.#counter = contexts[0];
    this.#idle = [...contexts];
  }

  get vocabularySize(): number {
    return this.#inputTokens.vocabularySize;
  }

  async countTokens(
    inputs: readonly EmbeddingInput[],
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<number[]> {
    const all = await this.#inputTokens.of(inputs, { most: this.maxTokens, signal });
    return all.map((tokens) => {
      if (tokens === undefined) return Number.POSITIVE_INFINITY;
      return tokens.length === 0 ? 0 : this.#counter.calculateInputLength(tokens);
    });
  }

  async embed(
    inputs: readonly EmbeddingInput[],
    { signal, onStart }: EmbedOptions,
  ): Promise<Embedding[]> {
    const jobs: Job[] = [];
    let waits = true;
    const start = (): void => {
      if (waits) onStart?.();
      waits = false;
    };
    const all = await this.#inputTokens.of(inputs, { signal });
    const embeddings = all.map((tokens = []) => {
      const { promise, resolve, reject } = Promise.withResolvers<Embedding>();
      const size = this.#counter.calculateInputLength([...tokens]);
      jobs.push({ tokens, size, signal, start, resolve, reject });
      return promise;
    });
    this.#jobs.add(jobs, ({ size }) => size);
    for (const context of this.#idle.splice(0)) {
      const work = this.#work(context);
      this.#working.add(work);
      void work.then(() => this.#working.delete(work));
    }
    return await Promise.all(embeddings);
  }

  /** Ends what waits, and waits for what is being computed: the weights must not go from under it. */
  async close(): Promise<void> {
    const closed = new NodeError("unavailable", "The model is being unloaded.");
    for (let job = this.#jobs.next(); job !== undefined; job = this.#jobs.next()) {
      job.reject(closed);
    }
    await Promise.all(this.#working);
  }

  /** Takes jobs until there are none. */
  async #work(context: LlamaEmbeddingContext): Promise<void> {
    for (let job = this.#jobs.next(); job !== undefined; job = this.#jobs.next()) {
      try {
        job.signal.throwIfAborted();
        job.start();
        const { vector } = await context.getEmbeddingFor(job.tokens);
        job.resolve({ vector: toUnitLength(Float32Array.from(vector)), tokens: job.size });
      } catch (error) {
        job.reject(error);
      }
    }
    this.#idle.push(context);
  }
}
