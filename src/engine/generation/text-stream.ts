/** Turns tokens into text as they come, and holds back bytes of an incomplete UTF-8 character. */
import type { LlamaModel, Token } from "node-llama-cpp";
import type { TokenBytes } from "../tokenizer/token-bytes.ts";

export interface TokenText {
  /** The text as a person reads it; a special token has none. */
  text: string;
  /** The same with special tokens written out. */
  raw: string;
  /** How many tokens it is made of. */
  tokens: number;
}

export interface TextStream {
  /** The text that this token completes; undefined while a character is incomplete. */
  push(token: Token): TokenText | undefined;
}

/** `before`: the tokens that it goes on from; absent: a text of its own. */
export function textStream(
  model: LlamaModel,
  tokenBytes: TokenBytes,
  before: readonly Token[] = [],
): TextStream {
  if (!tokenBytes.known) return new DetokenizingTextStream(model, before);
  return new ByteTextStream(tokenBytes, tokenBytes.dropsSpaceAfter(before));
}

/** Joins the tokens' bytes, without calls to llama.cpp. */
class ByteTextStream implements TextStream {
  readonly #tokenBytes: TokenBytes;
  readonly #decoder = new TextDecoder();
  #held = 0;
  #first: boolean;

  /** `dropsSpace`: whether it begins with a space that is no part of the text. */
  constructor(tokenBytes: TokenBytes, dropsSpace: boolean) {
    this.#tokenBytes = tokenBytes;
    this.#first = dropsSpace;
  }

  push(token: Token): TokenText | undefined {
    if (this.#tokenBytes.isSpecial(token)) {
      return this.#take("", this.#tokenBytes.piece(token));
    }
    let text = this.#decoder.decode(this.#tokenBytes.of(token), { stream: true });
    if (text === "") {
      this.#held++;
      return undefined;
    }
    if (this.#first && text.startsWith(" ")) text = text.slice(1);
    this.#first = false;
    return this.#take(text, text);
  }

  #take(text: string, raw: string): TokenText {
    const tokens = this.#held + 1;
    this.#held = 0;
    return { text, raw, tokens };
  }
}

const replacement = "\uFFFD";
/** A UTF-8 character has at most four bytes, so at most four byte tokens. */
const longestCharacter = 4;
/** How many tokens before it tell whether a token begins with a space. */
const contextLength = 3;

/** For vocabularies in which a token's text depends on its neighbours. */
class DetokenizingTextStream implements TextStream {
  readonly #model: LlamaModel;
  #before: Token[];
  #held: Token[] = [];

  constructor(model: LlamaModel, before: readonly Token[]) {
    this.#model = model;
    this.#before = before.slice(-contextLength);
  }

  push(token: Token): TokenText | undefined {
    this.#held.push(token);
    const text = this.#model.detokenize(this.#held, false, this.#before);
    if (text.endsWith(replacement) && this.#held.length < longestCharacter) return undefined;
    const held = this.#held;
    this.#before = [...this.#before, ...held].slice(-contextLength);
    this.#held = [];
    // Special tokens have no text; their name is in the raw text only.
    const raw = text === "" ? this.#model.detokenize(held, true) : text;
    return { text, raw, tokens: held.length };
  }
}
