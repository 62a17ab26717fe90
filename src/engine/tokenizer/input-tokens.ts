/** The tokens of embedding inputs, which are texts or lists of token ids. */
import type { LlamaModel, Token } from "node-llama-cpp";
import type { EmbeddingInput } from "../../core/ports/embedding-engine.ts";
import { LoopYield } from "./loop-yield.ts";
import { SlicedTokenizer } from "./sliced-tokenizer.ts";

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
