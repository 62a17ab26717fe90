/** Turns tokens into text as they come, never cutting a character in two. */
import type { LlamaModel, Token } from "node-llama-cpp";

const replacement = "\uFFFD";
/** A UTF-8 character has at most four bytes, so at most four byte tokens. */
const longestCharacter = 4;
/** How many tokens before are needed to know a token's leading space. */
const contextLength = 3;

export class TextStream {
  readonly #detokenize: LlamaModel["detokenize"];
  #before: Token[] = [];
  #held: Token[] = [];

  constructor(model: LlamaModel) {
    this.#detokenize = model.detokenize.bind(model);
  }

  /** The text that this token completes; empty while a character is incomplete. */
  push(token: Token): string {
    this.#held.push(token);
    const text = this.#detokenize(this.#held, false, this.#before);
    if (text.endsWith(replacement) && this.#held.length < longestCharacter) return "";
    this.#before = [...this.#before, ...this.#held].slice(-contextLength);
    this.#held = [];
    return text;
  }
}
