/** The tokens of what is to be embedded: texts, or ids of tokens that the caller made. */
import type { LlamaModel, Token } from "node-llama-cpp";
import type { EmbeddingInput } from "../../core/ports/embedding-engine.ts";
import { LoopTurns } from "./loop-turns.ts";
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

  /** The tokens of each input, in their order; undefined for one with so many that they were not counted. */
  async of(
    inputs: readonly EmbeddingInput[],
    {
      most = Number.POSITIVE_INFINITY,
      signal,
    }: { most?: number; signal?: AbortSignal | undefined },
  ): Promise<(Token[] | undefined)[]> {
    const budget = { most, turns: new LoopTurns(signal) };
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
