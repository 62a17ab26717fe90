/** Embeddings on llama.cpp: a pool of contexts over one set of weights, which share the threads. */
import type { LlamaModel, Token } from "node-llama-cpp";
import { toUnitLength } from "../core/embedding/embedding-service.ts";
import { NodeError } from "../core/errors.ts";
import type {
  Embedding,
  EmbeddingEngine,
  EmbeddingInput,
  EmbedOptions,
} from "../core/ports/embedding-engine.ts";
import type { NativeEmbeddingContext } from "./native/embedding-context.ts";
import { JobQueue } from "./scheduling/job-queue.ts";
import { InputTokens } from "./tokenizer/input-tokens.ts";
import { ModelTokenizer } from "./tokenizer/model-tokenizer.ts";

interface Job {
  /** With the special tokens that the model wants around a text. */
  tokens: readonly Token[];
  signal: AbortSignal;
  start: () => void;
  resolve: (embedding: Embedding) => void;
  reject: (reason: unknown) => void;
}

export class LlamaEmbeddingEngine implements EmbeddingEngine {
  readonly dimension: number;
  readonly maxTokens: number;
  readonly #model: LlamaModel;
  readonly #inputTokens: InputTokens;
  readonly #first: NativeEmbeddingContext;
  readonly #idle: NativeEmbeddingContext[];
  readonly #threads: number;
  readonly #jobs = new JobQueue<Job>();
  readonly #working = new Set<Promise<void>>();
  #closed = false;
  /** Texts that are being computed. */
  #computing = 0;
  /** Made when it is first asked. */
  #tokenizer: ModelTokenizer | undefined;

  constructor(
    model: LlamaModel,
    contexts: readonly [NativeEmbeddingContext, ...NativeEmbeddingContext[]],
    { maxTokens, threads }: { maxTokens: number; threads: number },
  ) {
    this.dimension = model.embeddingVectorSize;
    this.maxTokens = maxTokens;
    this.#model = model;
    this.#inputTokens = new InputTokens(model);
    this.#first = contexts[0];
    this.#idle = [...contexts];
    this.#threads = threads;
  }

  get vocabularySize(): number {
    return this.#inputTokens.vocabularySize;
  }

  get tokenizer(): ModelTokenizer {
    this.#tokenizer ??= new ModelTokenizer({
      model: this.#model,
      contextSize: this.maxTokens,
      withMarkers: (tokens) => this.#first.withMarkers(tokens),
    });
    return this.#tokenizer;
  }

  async countTokens(
    inputs: readonly EmbeddingInput[],
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<number[]> {
    const all = await this.#inputTokens.of(inputs, { most: this.maxTokens, signal });
    return all.map((tokens) => {
      if (tokens === undefined) return Number.POSITIVE_INFINITY;
      return tokens.length === 0 ? 0 : this.#first.withMarkers(tokens).length;
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
    if (this.#closed) throw unloaded();
    const embeddings = all.map((tokens = []) => {
      const { promise, resolve, reject } = Promise.withResolvers<Embedding>();
      jobs.push({ tokens: this.#first.withMarkers(tokens), signal, start, resolve, reject });
      return promise;
    });
    this.#jobs.add(jobs, ({ tokens }) => tokens.length);
    for (const context of this.#idle.splice(0)) {
      const work = this.#work(context);
      this.#working.add(work);
      void work.then(() => this.#working.delete(work));
    }
    return await Promise.all(embeddings);
  }

  /** Fails what waits, and waits for what is being computed, which still reads the weights. */
  async close(): Promise<void> {
    this.#closed = true;
    for (let job = this.#jobs.next(); job !== undefined; job = this.#jobs.next()) {
      job.reject(unloaded());
    }
    await Promise.all(this.#working);
  }

  /** Computes jobs on one context until there are none. */
  async #work(context: NativeEmbeddingContext): Promise<void> {
    for (let job = this.#jobs.next(); job !== undefined; job = this.#jobs.next()) {
      try {
        job.signal.throwIfAborted();
        job.start();
        const alone = this.#computing === 0 && this.#jobs.empty;
        job.resolve(await this.#compute(context, job.tokens, alone ? this.#threads : 1));
      } catch (error) {
        job.reject(error);
      }
    }
    this.#idle.push(context);
  }

  /** A text that is computed alone gets all threads; several at once are faster with one each. */
  async #compute(
    context: NativeEmbeddingContext,
    tokens: readonly Token[],
    threads: number,
  ): Promise<Embedding> {
    this.#computing++;
    try {
      const vector = await context.embed(tokens, threads);
      return { vector: toUnitLength(vector), tokens: tokens.length };
    } finally {
      this.#computing--;
    }
  }
}

const unloaded = (): NodeError => new NodeError("unavailable", "The model is being unloaded.");
