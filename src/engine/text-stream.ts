/** Turns tokens into text as they come, never cutting a character in two. */
import type { LlamaModel, Token } from "node-llama-cpp";

const replacement = "\uFFFD";
/** A UTF-8 character has at most four bytes, so at most four byte tokens. */
const longestCharacter = 4;
/** How many tokens before are needed to know a token's leading space. */
const contextLength = 3;

export interface TokenText {
  /** The text as a person reads it; a special token has none. */
  text: string;
  /** The same with special tokens written out. */
  raw: string;
  /** How many tokens it is made of. */
  tokens: number;
}

export class TextStream {
  readonly #model: LlamaModel;
  #before: Token[] = [];
  #held: Token[] = [];

  constructor(model: LlamaModel) {
    this.#model = model;
  }

  /** The text that this token completes; nothing while a character is incomplete. */
  push(token: Token): TokenText | undefined {
    this.#held.push(token);
    const text = this.#model.detokenize(this.#held, false, this.#before);
    if (text.endsWith(replacement) && this.#held.length < longestCharacter) return undefined;
    const held = this.#held;
    this.#before = [...this.#before, ...held].slice(-contextLength);
    this.#held = [];
    // Only a token without text can be a special one, whose name is in the raw text alone.
    const raw = text === "" ? this.#model.detokenize(held, true) : text;
    return { text, raw, tokens: held.length };
  }
}
