/** Port: converts text to a model's tokens, and back. */
import type { ChatMessage, Tool } from "./chat-engine.ts";

/** How each token is written: as in the vocabulary, or as the text that it stands for. */
export type PieceForm = "vocabulary" | "text";

export type TokenizerInput = {
  /** Absent: only ids. */
  pieces?: PieceForm;
} & (
  | {
      text: string;
      /** Whether to add the tokens that the model expects around a text. */
      addSpecial: boolean;
      parseSpecial: boolean;
    }
  /** Formatted by the model's chat template. */
  | { messages: readonly ChatMessage[]; tools?: readonly Tool[] }
);

export interface TokenizedText {
  tokens: Uint32Array;
  /** A piece that is not a whole character is given as bytes. */
  pieces?: readonly (string | readonly number[])[];
}

export interface Tokenizer {
  /** Undefined if there are more tokens than four times the model's context. */
  tokenize(
    input: TokenizerInput,
    options: { signal: AbortSignal },
  ): Promise<TokenizedText | undefined>;
  /** Writes special tokens as text. Throws for an unknown token, and beyond the limit above. */
  detokenize(tokens: readonly number[], options: { signal: AbortSignal }): Promise<string>;
}
