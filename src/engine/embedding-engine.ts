/** Embeddings on llama.cpp. */
import type { LlamaModel, Token } from "node-llama-cpp";
import { toUnitLength } from "../core/embedding/embedding-service.ts";
import { NodeError } from "../core/errors.ts";
import type {
  Embedding,
  EmbeddingEngine,
  EmbeddingInput,
  EmbedOptions,
} from "../core/ports/embedding-engine.ts";
import { tokensOf } from "./native/text-context.ts";
import { type TextContexts, textPool } from "./scheduling/text-pool.ts";
import { ModelTokenizer } from "./tokenizer/model-tokenizer.ts";
import { LoopYield } from "./tokenizer/sliced-tokenizer.ts";

interface EngineOptions extends TextContexts {
  maxTokens: number;
  /** Adds the special tokens that the model wants around a text. */
  markers: (tokens: readonly Token[]) => Token[];
}

export class LlamaEmbeddingEngine implements EmbeddingEngine {
  readonly dimension: number;
  readonly maxTokens: number;
  readonly vocabularySize: number;
  readonly tokenizer: ModelTokenizer;
  readonly #vocabulary: readonly Token[];
  readonly #withMarkers: (tokens: readonly Token[]) => Token[];
  readonly #pool: ReturnType<typeof textPool>;

  constructor(model: LlamaModel, options: EngineOptions) {
    const { maxTokens, markers } = options;
    this.dimension = model.embeddingVectorSize;
    this.maxTokens = maxTokens;
    this.#vocabulary = [...model.iterateAllTokens()];
    this.vocabularySize = this.#vocabulary.length;
    this.#withMarkers = markers;
    this.tokenizer = new ModelTokenizer(model, { contextSize: maxTokens, withMarkers: markers });
    this.#pool = textPool(options);
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
    // In the background one after the other, with one thread for all of them.
    const most = options.background === true ? 1 : marked.length;
    const vectors: Float32Array[] = [];
    for (let at = 0; at < marked.length; at += most) {
      const part = marked.slice(at, at + most);
      for (const vector of await this.#pool.run(part, at === 0 ? starting : rest)) {
        vectors.push(toUnitLength(vector));
      }
    }
    return vectors.map((vector, at) => ({ vector, tokens: marked[at]?.length ?? 0 }));
  }

  async close(): Promise<void> {
    await this.#pool.close();
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
