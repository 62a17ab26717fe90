/** Tokenizes texts in slices, between which the event loop turns: a megabyte in one piece takes seconds, or quadratic time. */

import {
  type LlamaModel,
  type LlamaText,
  SpecialToken,
  SpecialTokensText,
  type Token,
} from "node-llama-cpp";
import { Turns } from "../../core/turns.ts";
import { toToken } from "../native/sampler.ts";
import { markerKinds } from "./vocabulary.ts";

export interface TokenBudget {
  /** More tokens than this are of no use. */
  most: number;
  loop: LoopYield;
}

/** Counting goes on to this multiple of the limit, so that an error can say by how much a text is too long. */
export const countedTimes = 4;
/** Characters in a slice, which takes tens of milliseconds at worst. */
const sliceLength = 8192;

export class SlicedTokenizer {
  readonly #model: LlamaModel;
  readonly #longest: number;
  /** Whether white space may take no token at all, as in WordPiece. */
  readonly #dropsSpace: boolean;
  #specials: SpecialTokens | undefined;

  constructor(model: LlamaModel) {
    this.#model = model;
    const { ggml } = model.fileInfo.metadata.tokenizer;
    this.#longest = longestTokenBytes(ggml);
    this.#dropsSpace = ggml.model !== "gpt2" && ggml.model !== "llama";
  }

  /** Whether texts have more bytes than `most` tokens can represent. */
  cannotFit(texts: Iterable<string>, most: number): boolean {
    let room = most * this.#longest;
    for (const text of texts) {
      room -= Buffer.byteLength(this.#dropsSpace ? text.replaceAll(/\s+/g, "") : text);
      if (room < 0) return true;
    }
    return false;
  }

  /** The tokens of a text, as llama.cpp's; undefined if there are too many. `parsesSpecial`: special tokens that it writes out count as such. */
  async tokens(
    text: string,
    budget: TokenBudget,
    parsesSpecial = false,
  ): Promise<Token[] | undefined> {
    if (this.cannotFit([text], budget.most)) return undefined;
    return await collect(
      parsesSpecial ? this.#withSpecials(text) : this.#slices(text, false),
      budget,
    );
  }

  /** The first `most` tokens of a text; the rest is not read. */
  async beginning(text: string, { most, loop }: TokenBudget): Promise<Token[]> {
    const tokens: Token[] = [];
    for (const slice of this.#slices(text, false)) {
      for (const token of slice) tokens.push(token);
      await loop.yieldIfDue();
      if (tokens.length >= most) return tokens.slice(0, most);
    }
    return tokens;
  }

  /** The same for a text with special tokens in it; they are those of `LlamaText.tokenize`. */
  async tokensOf({ values }: LlamaText, budget: TokenBudget): Promise<Token[] | undefined> {
    return await collect(this.#parts(values), budget);
  }

  *#parts(values: LlamaText["values"]): Generator<readonly Token[]> {
    const { tokenizer } = this.#model;
    let plain = "";
    let follows = false;
    for (const value of values) {
      if (!(value instanceof SpecialToken || value instanceof SpecialTokensText)) {
        plain += value;
        continue;
      }
      yield* this.#slices(plain, true);
      follows ||= plain !== "";
      yield value instanceof SpecialToken
        ? value.tokenize(tokenizer)
        : value.tokenize(tokenizer, follows);
      follows = true;
      plain = "";
    }
    yield* this.#slices(plain, true);
  }

  *#withSpecials(text: string): Generator<readonly Token[]> {
    this.#specials ??= new SpecialTokens(this.#model);
    for (const part of this.#specials.split(text)) {
      if (typeof part === "string") yield* this.#slices(part, false);
      else yield part === undefined ? [] : [part];
    }
  }

  /** `trims`: without the space that some vocabularies add at the start. */
  *#slices(text: string, trims: boolean): Generator<Token[]> {
    for (let from = 0, to = 0; from < text.length; from = to) {
      to = sliceEnd(text, from);
      const slice = text.slice(from, to);
      if (from > 0) yield this.#continued(slice);
      else yield this.#model.tokenize(slice, false, trims ? "trimLeadingSpace" : undefined);
    }
  }

  /** Without a space at the start, which the library leaves there before a line break. */
  #continued(text: string): Token[] {
    if (text.startsWith("\n")) {
      const before = this.#model.tokenize("\t");
      const tokens = this.#model.tokenize(`\t${text}`);
      if (before.every((token, at) => tokens[at] === token)) return tokens.slice(before.length);
    }
    return this.#model.tokenize(text, false, "trimLeadingSpace");
  }
}

/** All tokens, tokenized on demand, so that the event loop turns between slices; undefined if they are too many. */
async function collect(
  slices: Iterable<readonly Token[]>,
  { most, loop }: TokenBudget,
): Promise<Token[] | undefined> {
  const tokens: Token[] = [];
  for (const slice of slices) {
    for (const token of slice) tokens.push(token);
    await loop.yieldIfDue();
    if (tokens.length > most * countedTimes) return undefined;
  }
  return tokens;
}

/** A slice ends before a space between words, which no token spans, so its tokens are those of the whole text; otherwise anywhere. */
function sliceEnd(text: string, from: number): number {
  const end = from + sliceLength;
  if (end >= text.length) return text.length;
  for (let at = end; at > from + sliceLength / 2; at--) {
    if (text[at] === " " && isInk(text[at - 1]) && isInk(text[at + 1])) return at;
  }
  const isPair = /[\uDC00-\uDFFF]/.test(text[end] ?? "");
  return isPair ? end - 1 : end;
}

const isInk = (character = " "): boolean => !/\s/.test(character);

/** Characters that are looked at in some milliseconds at worst. */
const pauseLength = 65_536;

/** A trie by UTF-16 units, so that a place of a text costs no more than the longest special token. */
interface Branch {
  next: Map<number, Branch>;
  token?: Token;
}

/** Finds the special tokens that a text writes out: `<|im_start|>`, `</s>`. */
class SpecialTokens {
  readonly #root: Branch = { next: new Map() };

  constructor(model: LlamaModel) {
    const { tokens, token_type: kinds = [] } = model.fileInfo.metadata.tokenizer.ggml;
    for (const [id, kind] of kinds.entries()) {
      const text = tokens[id];
      if (markerKinds.has(kind) && text) this.#add(text, toToken(id));
    }
  }

  /** The text between special tokens, and those tokens, in order; at times undefined, to yield to the event loop. */
  *split(text: string): Generator<string | Token | undefined> {
    let from = 0;
    let paused = 0;
    for (let at = 0; at < text.length; ) {
      if (at - paused >= pauseLength) {
        paused = at;
        yield undefined;
      }
      const found = this.#longestAt(text, at);
      if (found === undefined) {
        at++;
        continue;
      }
      if (at > from) yield text.slice(from, at);
      yield found.token;
      at += found.length;
      from = at;
    }
    if (from < text.length) yield text.slice(from);
  }

  #add(text: string, token: Token): void {
    let branch = this.#root;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      const next = branch.next.get(unit) ?? { next: new Map() };
      branch.next.set(unit, next);
      branch = next;
    }
    branch.token ??= token;
  }

  #longestAt(text: string, start: number): { token: Token; length: number } | undefined {
    let found: { token: Token; length: number } | undefined;
    let branch = this.#root.next.get(text.charCodeAt(start));
    for (let at = start + 1; branch !== undefined; at++) {
      if (branch.token !== undefined) found = { token: branch.token, length: at - start };
      branch = branch.next.get(text.charCodeAt(at));
    }
    return found;
  }
}

interface Vocabulary {
  readonly model: string;
  readonly tokens: readonly string[];
  /** Kinds of the tokens, as GGUF numbers them; 1: normal. */
  readonly token_type?: readonly number[];
}

const normal = 1;

/** How many bytes of text the longest token of a vocabulary represents. */
function longestTokenBytes({ model, tokens, token_type: types = [] }: Vocabulary): number {
  let longest = 1;
  for (const [token, piece] of tokens.entries()) {
    // A character has at most three bytes per UTF-16 unit, so a short piece cannot be longer.
    if (piece.length * 3 <= longest) continue;
    longest = Math.max(longest, bytesOf(piece, model, types[token] ?? normal));
  }
  return longest;
}

function bytesOf(piece: string, model: string, type: number): number {
  // Byte-level BPE writes each byte as a character.
  if (model === "gpt2" && type === normal) return piece.length;
  // SentencePiece writes a space as U+2581.
  return Buffer.byteLength(piece.replaceAll("\u2581", " "));
}

/** How long the event loop may be blocked before the next yield. */
const blockedMs = 10;
/** Of all work in this process: without them one turn would take as long as a step of each. */
const turns = new Turns();

/** Yields to the event loop during long synchronous work, and stops the work when its signal aborts. */
export class LoopYield {
  readonly #signal: AbortSignal | undefined;
  #yieldedAt = performance.now();

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** To be called after each step of the work; throws the signal's reason. */
  async yieldIfDue(): Promise<void> {
    if (performance.now() - this.#yieldedAt < blockedMs) return;
    await turns.next();
    this.#signal?.throwIfAborted();
    this.#yieldedAt = performance.now();
  }
}
