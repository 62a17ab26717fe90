/**
 * Tokenises texts of any length without blocking. A text with too many bytes to fit is refused
 * without tokenising it; the rest is tokenised in slices, between which the event loop turns and the
 * caller can abort. In one piece a megabyte takes seconds, and some texts, such as newlines in a
 * SentencePiece vocabulary, take quadratic time.
 */
import {
  type LlamaModel,
  type LlamaText,
  SpecialToken,
  SpecialTokensText,
  type Token,
} from "node-llama-cpp";
import { longestTokenBytes } from "./longest-token.ts";
import type { LoopYield } from "./loop-yield.ts";
import { SpecialTokens } from "./special-tokens.ts";

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

  /** Whether texts have more bytes than so many tokens can stand for. */
  cannotFit(texts: Iterable<string>, most: number): boolean {
    let room = most * this.#longest;
    for (const text of texts) {
      room -= Buffer.byteLength(this.#dropsSpace ? text.replaceAll(/\s+/g, "") : text);
      if (room < 0) return true;
    }
    return false;
  }

  /**
   * The tokens of a text in which special tokens count. In vocabularies that begin a text with a
   * space there is one behind each special token too. The tokens are those of llama.cpp.
   */
  async rawTokens(
    text: string,
    budget: TokenBudget,
    parsesSpecial = true,
  ): Promise<Token[] | undefined> {
    if (this.cannotFit([text], budget.most)) return undefined;
    if (parsesSpecial) this.#specials ??= new SpecialTokens(this.#model);
    const collected = new Collected(budget);
    for (const part of parsesSpecial ? (this.#specials?.split(text) ?? []) : [text]) {
      await budget.loop.yieldIfDue();
      if (part === undefined) continue;
      const isRoom =
        typeof part === "string"
          ? await this.#addRaw(collected, part)
          : await collected.add([part]);
      if (!isRoom) return undefined;
    }
    return collected.tokens;
  }

  async #addRaw(collected: Collected, text: string): Promise<boolean> {
    for (let from = 0, to = 0; from < text.length; from = to) {
      to = sliceEnd(text, from);
      const slice = text.slice(from, to);
      const tokens = from === 0 ? this.#model.tokenize(slice) : this.#continued(slice);
      if (!(await collected.add(tokens))) return false;
    }
    return true;
  }

  /** Without a space at the start, which the library leaves there before a line break. */
  #continued(text: string): Token[] {
    if (!text.startsWith("\n")) return this.#model.tokenize(text, false, "trimLeadingSpace");
    const before = this.#model.tokenize("\t");
    const tokens = this.#model.tokenize(`\t${text}`);
    if (before.every((token, at) => tokens[at] === token)) return tokens.slice(before.length);
    return this.#model.tokenize(text, false, "trimLeadingSpace");
  }

  /** The tokens of a text; undefined where they are too many to be counted. */
  async tokens(text: string, budget: TokenBudget): Promise<Token[] | undefined> {
    if (this.cannotFit([text], budget.most)) return undefined;
    const collected = new Collected(budget);
    return (await this.#add(collected, text, false)) ? collected.tokens : undefined;
  }

  /** The first tokens of a text, at most so many: what is behind them is not looked at. */
  async beginning(text: string, { most, loop }: TokenBudget): Promise<Token[]> {
    const tokens: Token[] = [];
    for (const slice of this.#slices(text, false)) {
      for (const token of slice) tokens.push(token);
      await loop.yieldIfDue();
      if (tokens.length >= most) return tokens.slice(0, most);
    }
    return tokens;
  }

  /** The tokens of a text with special tokens in it, as `tokens` counts them; they are those of `LlamaText.tokenize`. */
  async tokensOf({ values }: LlamaText, budget: TokenBudget): Promise<Token[] | undefined> {
    const { tokenizer } = this.#model;
    const collected = new Collected(budget);
    let plain = "";
    for (const value of values) {
      if (!(value instanceof SpecialToken || value instanceof SpecialTokensText)) {
        plain += value;
        continue;
      }
      if (!(await this.#add(collected, plain, true))) return undefined;
      const follows = collected.tokens.length > 0 || plain !== "";
      const special =
        value instanceof SpecialToken
          ? value.tokenize(tokenizer)
          : value.tokenize(tokenizer, follows);
      if (!(await collected.add(special))) return undefined;
      plain = "";
    }
    return (await this.#add(collected, plain, true)) ? collected.tokens : undefined;
  }

  /** Returns whether there is room for more. `trims`: without the space that some vocabularies add at the start. */
  async #add(collected: Collected, text: string, trims: boolean): Promise<boolean> {
    for (const slice of this.#slices(text, trims)) {
      if (!(await collected.add(slice))) return false;
    }
    return true;
  }

  /** The tokens of a text, slice by slice, each tokenised when it is asked for. */
  *#slices(text: string, trims: boolean): Generator<Token[]> {
    for (let from = 0, to = 0; from < text.length; from = to) {
      to = sliceEnd(text, from);
      const option = trims || from > 0 ? "trimLeadingSpace" : undefined;
      yield this.#model.tokenize(text.slice(from, to), false, option);
    }
  }
}

/** Collects tokens up to a limit, and yields to the event loop in between. */
class Collected {
  readonly tokens: Token[] = [];
  readonly #budget: TokenBudget;

  constructor(budget: TokenBudget) {
    this.#budget = budget;
  }

  async add(tokens: readonly Token[]): Promise<boolean> {
    for (const token of tokens) this.tokens.push(token);
    const { most, loop } = this.#budget;
    await loop.yieldIfDue();
    return this.tokens.length <= most * countedTimes;
  }
}

/**
 * Where a slice ends: before a space between words, since no vocabulary has a token that spans one,
 * so that the tokens are those of the whole text. A slice without such a space ends anywhere: its
 * tokens stand for the same text too, but for a space that some vocabularies add at its start.
 */
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
