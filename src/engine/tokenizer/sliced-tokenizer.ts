/**
 * Tokens of texts of any length: what cannot fit is refused by its bytes, and the rest is tokenised in
 * slices, between which the loop turns and a caller can leave. In one piece a megabyte takes seconds,
 * and some texts, such as newlines in a SentencePiece vocabulary, quadratic time.
 */
import {
  type LlamaModel,
  type LlamaText,
  SpecialToken,
  SpecialTokensText,
  type Token,
} from "node-llama-cpp";
import { longestTokenBytes } from "./longest-token.ts";
import type { LoopTurns } from "./loop-turns.ts";

export interface TokenBudget {
  /** Most tokens that are of use. */
  most: number;
  turns: LoopTurns;
}

/** How many times the tokens of use are counted, so that a refusal can say by how much a text is too long. */
const countedTimes = 4;
/** Characters that are tokenised at a time: a slice takes tens of milliseconds at worst. */
const sliceLength = 8192;

export class SlicedTokenizer {
  readonly #model: LlamaModel;
  readonly #longest: number;
  /** Whether white space may be no token at all, as in WordPiece. */
  readonly #dropsSpace: boolean;

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

  /** The tokens of a text; undefined where there are so many more than of use that they were not counted. */
  async tokens(text: string, budget: TokenBudget): Promise<Token[] | undefined> {
    if (this.cannotFit([text], budget.most)) return undefined;
    const collected = new Collected(budget);
    return (await this.#add(collected, text, false)) ? collected.tokens : undefined;
  }

  /** The same for a text with special tokens in it; the tokens are those of `LlamaText.tokenize`. */
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

  /** Says whether there is room for more. `trims`: without the space that some vocabularies begin a text with. */
  async #add(collected: Collected, text: string, trims: boolean): Promise<boolean> {
    for (let from = 0, to = 0; from < text.length; from = to) {
      to = sliceEnd(text, from);
      const option = trims || from > 0 ? "trimLeadingSpace" : undefined;
      const slice = this.#model.tokenize(text.slice(from, to), false, option);
      if (!(await collected.add(slice))) return false;
    }
    return true;
  }
}

/** Tokens up to a number, with turns of the loop between. */
class Collected {
  readonly tokens: Token[] = [];
  readonly #budget: TokenBudget;

  constructor(budget: TokenBudget) {
    this.#budget = budget;
  }

  async add(tokens: readonly Token[]): Promise<boolean> {
    for (const token of tokens) this.tokens.push(token);
    const { most, turns } = this.#budget;
    await turns.take();
    return this.tokens.length <= most * countedTimes;
  }
}

/**
 * Where a slice ends: before the space of a word, where no vocabulary has a token that goes on, so that
 * the tokens are those of the whole text. In a slice without words it ends anywhere: the tokens stand
 * for the same text then too, but for a space that some vocabularies begin a slice with.
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
