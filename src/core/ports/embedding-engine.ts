/** Port: an embedding model, on this machine or upstream. */
import type { EngineCall } from "./telemetry.ts";
import type { Tokenizer } from "./tokenizer.ts";

export type EmbeddingInput = string | readonly number[];

export interface Embedding {
  /** Unit length. */
  vector: Float32Array;
  tokens: number;
}

export interface EmbedOptions extends EngineCall {
  /** Called once, when the first input leaves the queue, with the tokens of all of them. */
  onStart?: (tokens: number) => void;
  /** Whether other requests go first: a text gets only one thread, even if it runs alone. Default: false. */
  background?: boolean;
}

export interface EmbeddingEngine {
  readonly dimension: number;
  readonly maxTokens: number;
  readonly vocabularySize: number;
  /** Absent if the vocabulary is not known here. */
  readonly tokenizer?: Tokenizer | undefined;
  /** Whether `countTokens` estimates, rather too high; then only `embed` decides whether a text is too long. Default: false. */
  readonly estimatesTokens?: boolean;
  /** The model's markers included; 0 if it reads nothing in it, Infinity if counting stopped beyond `maxTokens`. */
  countTokens(
    inputs: readonly EmbeddingInput[],
    options?: { signal: AbortSignal },
  ): Promise<number[]>;
  /** Embeds the inputs; results are in the same order. Throws `invalid_request`, and computes none, unless each has 1 to `maxTokens` known tokens. */
  embed(inputs: readonly EmbeddingInput[], options: EmbedOptions): Promise<Embedding[]>;
}
