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
import { StepThreads } from "./machine/step-threads.ts";
import type { StepWatch } from "./machine/step-watch.ts";
import type { NativeEmbeddingContext } from "./native/contexts.ts";
import { ContextPool } from "./scheduling/context-pool.ts";
import { ModelTokenizer } from "./tokenizer/model-tokenizer.ts";
import { LoopYield, SlicedTokenizer } from "./tokenizer/sliced-tokenizer.ts";

export class LlamaEmbeddingEngine implements EmbeddingEngine {
  readonly dimension: number;
  readonly maxTokens: number;
  readonly #model: LlamaModel;
  readonly #inputTokens: InputTokens;
  readonly #first: NativeEmbeddingContext;
  /** Its jobs are tokens, with the special ones that the model wants around a text. */
  readonly #pool: ContextPool<NativeEmbeddingContext, readonly Token[], Embedding>;
  /** Made when it is first asked. */
  #tokenizer: ModelTokenizer | undefined;

  constructor(
    model: LlamaModel,
    contexts: readonly [NativeEmbeddingContext, ...NativeEmbeddingContext[]],
    { maxTokens, threads, steps }: { maxTokens: number; threads: number; steps: StepWatch },
  ) {
    this.dimension = model.embeddingVectorSize;
    this.maxTokens = maxTokens;
    this.#model = model;
    this.#inputTokens = new InputTokens(model);
    this.#first = contexts[0];
    const stepThreads = new StepThreads({ size: model.size, budget: threads });
    this.#pool = new ContextPool({
      contexts,
      steps,
      sizeOf: (tokens) => tokens.length,
      async compute(context, tokens, { isAlone, inBackground }) {
        // A text that is asked for alone gets every thread that is free; several at once are faster with one each.
        const count = tokens.length;
        const most = Math.min(stepThreads.threadsFor(count), Math.max(1, threads - inBackground));
        const { vector, ...step } = await context.embed(tokens, isAlone ? most : 1);
        if (isAlone) stepThreads.took({ ...step, tokens: count, now: performance.now() });
        return { vector: toUnitLength(vector), tokens: count };
      },
    });
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

  async embed(inputs: readonly EmbeddingInput[], options: EmbedOptions): Promise<Embedding[]> {
    const all = await this.#inputTokens.of(inputs, { signal: options.signal });
    const marked = all.map((tokens = []) => this.#first.withMarkers(tokens));
    // llama.cpp ends the process.
    if (marked.some(({ length }) => length > this.maxTokens)) {
      throw new NodeError("invalid_request", `A text has more than ${this.maxTokens} tokens.`);
    }
    if (options.background !== true) return await this.#pool.run(marked, options);
    // One after the other: all of them together have one thread.
    const { onStart: _, ...rest } = options;
    const embeddings: Embedding[] = [];
    for (const [at, tokens] of marked.entries()) {
      embeddings.push(...(await this.#pool.run([tokens], at === 0 ? options : rest)));
    }
    return embeddings;
  }

  /** Fails what waits, and waits for what is being computed, which still reads the weights. */
  async close(): Promise<void> {
    await this.#pool.close();
  }
}

/** The tokens of embedding inputs, which are texts or lists of token ids. */
export class InputTokens {
  readonly #tokenizer: SlicedTokenizer;
  readonly #vocabulary: readonly Token[];

  constructor(model: LlamaModel) {
    this.#tokenizer = new SlicedTokenizer(model);
    this.#vocabulary = [...model.iterateAllTokens()];
  }

  get vocabularySize(): number {
    return this.#vocabulary.length;
  }

  /** The tokens of each input; undefined for one with so many that they were not counted. */
  async of(
    inputs: readonly EmbeddingInput[],
    {
      most = Number.POSITIVE_INFINITY,
      signal,
    }: { most?: number; signal?: AbortSignal | undefined },
  ): Promise<(Token[] | undefined)[]> {
    const budget = { most, loop: new LoopYield(signal) };
    const all: (Token[] | undefined)[] = [];
    for (const input of inputs) {
      all.push(
        typeof input === "string"
          ? await this.#tokenizer.tokens(input, budget)
          : input.flatMap((id) => this.#vocabulary[id] ?? []),
      );
    }
    return all;
  }
}
