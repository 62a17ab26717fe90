/** What an embedding model does, whatever runs it. */
import type { Report } from "./telemetry.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** A text, or the ids of its tokens. */
export type EmbeddingInput = string | readonly number[];

export interface Embedding {
  /** Unit length. */
  vector: Float32Array;
  tokens: number;
}

export interface EmbedOptions {
  signal: AbortSignal;
  /** Called once, when the first input leaves the queue. */
  onStart?: () => void;
  /** Whether others go first: a text gets one thread, also where it is computed alone. Default: false. */
  background?: boolean;
  /** Called with what is done, by what measures an engine; the engine itself need not call it. */
  report?: Report;
}

export interface EmbeddingEngine {
  /** Length of every vector. */
  readonly dimension: number;
  /** Most tokens one text may have. */
  readonly maxTokens: number;
  /** How many tokens there are in the model's vocabulary. */
  readonly vocabularySize: number;
  /** Absent where the vocabulary is not known here. */
  readonly tokenizer?: Tokenizer | undefined;
  /**
   * Whether `countTokens` estimates, and then never too low where it can help it: whether a text is
   * too long is said by `embed` alone. Default: it counts.
   */
  readonly estimatesTokens?: boolean;
  /**
   * How many tokens each input has, the model's own markers included; 0 where it reads nothing, and
   * Infinity where it is known to be more than `maxTokens`, and nobody counted further.
   */
  countTokens(
    inputs: readonly EmbeddingInput[],
    options?: { signal: AbortSignal },
  ): Promise<number[]>;
  /** Embeds the inputs, each of 1 to `maxTokens` known tokens; the answer is in their order. */
  embed(inputs: readonly EmbeddingInput[], options: EmbedOptions): Promise<Embedding[]>;
}
