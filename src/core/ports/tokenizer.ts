/** A model's tokens: texts to their ids, and back. */
import type { ChatMessage, Tool } from "./chat-engine.ts";

/** How each token is written: as the vocabulary has it, or as the text that it stands for. */
export type PieceForm = "vocabulary" | "text";

export type TokenizerInput = {
  /** Absent: ids alone. */
  pieces?: PieceForm;
} & (
  | {
      text: string;
      /** Whether the tokens are added that the model wants around a text. */
      addSpecial: boolean;
      /** Whether special tokens that the text writes out count as such. */
      parseSpecial: boolean;
    }
  /** As the model's chat template has them. */
  | { messages: readonly ChatMessage[]; tools?: readonly Tool[] }
);

export interface TokenizedText {
  tokens: Uint32Array;
  /** A text that is no whole character is its bytes. */
  pieces?: readonly (string | readonly number[])[];
}

export interface Tokenizer {
  /** Undefined where there are more tokens than four times the model's context. */
  tokenize(
    input: TokenizerInput,
    options: { signal: AbortSignal },
  ): Promise<TokenizedText | undefined>;
  /** Special tokens are written out. Throws where there is no such token, or more than above. */
  detokenize(tokens: readonly number[], options: { signal: AbortSignal }): Promise<string>;
}
