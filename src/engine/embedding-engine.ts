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
import { StepThreads, type StepWatch } from "./machine/steps.ts";
import type { TextContext } from "./native/contexts.ts";
import { ContextPool } from "./scheduling/context-pool.ts";
import { ModelTokenizer } from "./tokenizer/model-tokenizer.ts";
import { LoopYield } from "./tokenizer/sliced-tokenizer.ts";

interface EngineOptions {
  maxTokens: number;
  threads: number;
  steps: StepWatch;
  /** Adds the special tokens that the model wants around a text. */
  markers: (tokens: readonly Token[]) => Token[];
  /** Whether this thread may wait for a short text; default: false. */
  mayWait?: boolean;
  /** Called once nothing computes any more. */
  onClose?: () => void;
}

const tokensOf = (texts: readonly (readonly Token[])[]): number =>
  texts.reduce((sum, tokens) => sum + tokens.length, 0);

export class LlamaEmbeddingEngine implements EmbeddingEngine {
  readonly dimension: number;
  readonly maxTokens: number;
  readonly vocabularySize: number;
  readonly tokenizer: ModelTokenizer;
  readonly #vocabulary: readonly Token[];
  readonly #withMarkers: (tokens: readonly Token[]) => Token[];
  readonly #onClose: () => void;
  /** Its jobs are tokens, including special tokens. */
  readonly #pool: ContextPool<TextContext, readonly Token[], Embedding>;

  constructor(
    model: LlamaModel,
    contexts: readonly [TextContext, ...TextContext[]],
    { maxTokens, threads, steps, markers, mayWait = false, onClose = () => {} }: EngineOptions,
  ) {
    this.dimension = model.embeddingVectorSize;
    this.maxTokens = maxTokens;
    this.#vocabulary = [...model.iterateAllTokens()];
    this.vocabularySize = this.#vocabulary.length;
    this.#withMarkers = markers;
    this.#onClose = onClose;
    this.tokenizer = new ModelTokenizer(model, { contextSize: maxTokens, withMarkers: markers });
    const stepThreads = new StepThreads({ size: model.size, budget: threads });
    const { packing } = contexts[0];
    this.#pool = new ContextPool({
      contexts,
      steps,
      sizeOf: (tokens) => tokens.length,
      packing,
      async compute(context, texts, { isAlone, inBackground }) {
        // A single text gets all free threads; several at once are faster with one thread each.
        const count = tokensOf(texts);
        const free = Math.max(1, threads - inBackground);
        const { vectors, ...step } = await context.embed(
          texts,
          isAlone ? Math.min(stepThreads.threadsFor(count), free) : 1,
          mayWait && isAlone,
        );
        if (isAlone) stepThreads.took({ ...step, tokens: count, now: performance.now() });
        return vectors.map((vector, at) => ({
          vector: toUnitLength(vector),
          tokens: texts[at]?.length ?? 0,
        }));
      },
    });
  }

  async countTokens(
    inputs: readonly EmbeddingInput[],
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<number[]> {
    const all = await this.#tokensOf(inputs, signal);
    return all.map((tokens) => {
      if (tokens === undefined) return Number.POSITIVE_INFINITY;
      return tokens.length === 0 ? 0 : this.#withMarkers(tokens).length;
    });
  }

  async embed(inputs: readonly EmbeddingInput[], options: EmbedOptions): Promise<Embedding[]> {
    const all = await this.#tokensOf(inputs, options.signal);
    // llama.cpp would end the process.
    const marked = all.map((tokens = []) => {
      const whole = tokens.length === 0 ? [] : this.#withMarkers(tokens);
      if (whole.length > 0 && whole.length <= this.maxTokens) return whole;
      const why = `A text has no tokens, or more than ${this.maxTokens}.`;
      throw new NodeError("invalid_request", why);
    });
    const { onStart, ...rest } = options;
    const starting = { ...rest, onStart: () => onStart?.(tokensOf(marked)) };
    if (options.background !== true) return await this.#pool.run(marked, starting);
    // One after the other, with one thread for all of them.
    const embeddings: Embedding[] = [];
    for (const [at, tokens] of marked.entries()) {
      embeddings.push(...(await this.#pool.run([tokens], at === 0 ? starting : rest)));
    }
    return embeddings;
  }

  async close(): Promise<void> {
    await this.#pool.close();
    this.#onClose();
  }

  /** The tokens of each input, a text or token ids; undefined for one with more than the model takes. */
  async #tokensOf(
    inputs: readonly EmbeddingInput[],
    signal: AbortSignal | undefined,
  ): Promise<(Token[] | undefined)[]> {
    const budget = { most: this.maxTokens, loop: new LoopYield(signal) };
    const all: (Token[] | undefined)[] = [];
    for (const input of inputs) {
      all.push(
        typeof input === "string"
          ? await this.tokenizer.sliced.tokens(input, budget)
          : input.flatMap((id) => this.#vocabulary[id] ?? []),
      );
    }
    return all;
  }
}
