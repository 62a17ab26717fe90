/** Splits model output by markers: text, reasoning, start of a tool call, end of the turn. */
import type { LlamaModel, Token } from "node-llama-cpp";
import type { TokenLogprobs } from "../../core/ports/chat-engine.ts";
import type { TokenBytes } from "../tokenizer/vocabulary.ts";

export interface Markers {
  thoughts: readonly { open: string; close: string }[];
  calls: readonly string[];
  /** Parts of the template that the model repeats; they are left out of the answer. */
  noise: readonly string[];
  ends: readonly string[];
  stops: readonly string[];
}

/** Text of whole characters: that of one token, or of the few that make a character. */
interface TokenText {
  /** The text as a person reads it; a special token has none. */
  text: string;
  /** The same with special tokens written out. */
  raw: string;
  tokens: number;
}

/** `start`: how many tokens of the answer came before it. */
export interface Piece extends TokenText {
  start: number;
  logprobs?: readonly TokenLogprobs[];
}

export type Segment =
  | { type: "text"; text: string; logprobs: readonly TokenLogprobs[] }
  | { type: "reasoning"; text: string; tokens: number }
  | { type: "call"; start: number }
  /** `stop`: the stop sequence of the caller, if one ended the turn. */
  | { type: "end"; stop?: string };

type Action =
  | { type: "open"; close: string }
  | { type: "close" }
  | { type: "call" }
  | { type: "skip" }
  | { type: "end"; stop?: string };

interface Match {
  at: number;
  length: number;
  action: Action;
}

export class Segmenter {
  readonly #markers: Markers;
  #close: string | undefined;
  #triggers: readonly (readonly [string, Action])[] = [];
  /** First characters of the markers, to skip text without any quickly. */
  #firsts: ReadonlySet<string> = new Set();
  #held: Piece[] = [];

  constructor(markers: Markers, options: { startsInThought?: string | undefined } = {}) {
    this.#markers = markers;
    this.#watchFor(options.startsInThought);
  }

  #watchFor(close: string | undefined): void {
    this.#close = close;
    this.#triggers = this.#activeTriggers();
    this.#firsts = new Set(this.#triggers.map(([text]) => text.charAt(0)));
  }

  get inThought(): boolean {
    return this.#close !== undefined;
  }

  /** Ends a thought that the model did not; returns the marker that closes it. */
  closeThought(): string {
    const close = this.#close ?? "";
    this.#watchFor(undefined);
    return close;
  }

  push(piece: Piece): Segment[] {
    // The common case, which must be cheap: nothing is held back and no marker can begin here.
    if (this.#held.length === 0 && !this.#mayBegin(piece.raw)) return this.#emit([piece]);
    this.#held.push(piece);
    const raw = this.#held.map((held) => held.raw).join("");
    const match = this.#find(raw);
    if (match === undefined) return this.#emit(this.#release(raw.length - this.#possible(raw)));
    // A longer marker that begins at the same place may still be completed.
    const rest = raw.slice(match.at);
    const longer =
      match.action.type !== "end" &&
      this.#triggers.some(([text]) => text.length > rest.length && text.startsWith(rest));
    return longer ? this.#emit(this.#release(match.at)) : this.#act(match);
  }

  /** Called at the end: what was held back is a marker, or text after all. */
  end(): Segment[] {
    const match = this.#find(this.#held.map((held) => held.raw).join(""));
    return match === undefined ? this.#emit(this.#held.splice(0)) : this.#act(match);
  }

  #act({ at, length, action }: Match): Segment[] {
    const before = this.#emit(this.#splitOff(at));
    const { start = 0 } = this.#held[0] ?? {};
    const rest = this.#held;
    this.#held = [];
    if (action.type === "call") return [...before, { type: "call", start }];
    if (action.type === "end") return [...before, action];
    if (action.type === "open") this.#watchFor(action.close);
    if (action.type === "close") this.#watchFor(undefined);
    return [...before, ...dropStart(rest, length).flatMap((piece) => this.push(piece))];
  }

  #mayBegin(raw: string): boolean {
    for (const first of this.#firsts) if (raw.includes(first)) return true;
    return false;
  }

  /** The earliest marker, and of several at one place the longest. */
  #find(raw: string): Match | undefined {
    let best: Match | undefined;
    for (const [text, action] of this.#triggers) {
      const at = raw.indexOf(text);
      if (at === -1) continue;
      if (best === undefined || at < best.at || (at === best.at && text.length > best.length)) {
        best = { at, length: text.length, action };
      }
    }
    return best;
  }

  /** How many characters at the end could be the beginning of a marker. */
  #possible(raw: string): number {
    let most = 0;
    for (const [text] of this.#triggers) {
      const longest = Math.min(text.length - 1, raw.length);
      for (let length = longest; length > most; length--) {
        if (raw.endsWith(text.slice(0, length))) most = length;
      }
    }
    return most;
  }

  /** Takes the pieces that lie wholly within the first `length` characters. */
  #release(length: number): Piece[] {
    let end = 0;
    let count = 0;
    for (const { raw } of this.#held) {
      end += raw.length;
      if (end > length) break;
      count++;
    }
    return this.#held.splice(0, count);
  }

  /** Takes everything before a place, cutting the piece that spans it. */
  #splitOff(at: number): Piece[] {
    const before = this.#release(at);
    const taken = before.reduce((sum, { raw }) => sum + raw.length, 0);
    const [spanning] = this.#held;
    if (spanning === undefined || taken === at) return before;
    const cut = at - taken;
    const { raw, logprobs: _, ...piece } = spanning;
    this.#held[0] = { ...piece, raw: raw.slice(cut), text: spanning.text.slice(cut) };
    return [...before, { ...spanning, raw: raw.slice(0, cut), text: spanning.text.slice(0, cut) }];
  }

  #emit(pieces: readonly Piece[]): Segment[] {
    const text = pieces.map((piece) => piece.text).join("");
    if (this.#close !== undefined) {
      const tokens = pieces.reduce((sum, piece) => sum + piece.tokens, 0);
      return tokens === 0 ? [] : [{ type: "reasoning", text, tokens }];
    }
    if (text === "") return [];
    return [{ type: "text", text, logprobs: pieces.flatMap(({ logprobs = [] }) => logprobs) }];
  }

  #activeTriggers(): (readonly [string, Action])[] {
    const { thoughts, calls, noise, ends, stops } = this.#markers;
    const end = ends.map((text) => [text, { type: "end" }] as const);
    const skip = noise.map((text) => [text, { type: "skip" }] as const);
    if (this.#close !== undefined) return [[this.#close, { type: "close" }], ...skip, ...end];
    return [
      ...thoughts.map(({ open, close }) => [open, { type: "open", close }] as const),
      ...calls.map((text) => [text, { type: "call" }] as const),
      ...stops.map((text) => [text, { type: "end", stop: text }] as const),
      ...skip,
      ...end,
    ];
  }
}

function dropStart(pieces: readonly Piece[], length: number): Piece[] {
  let left = length;
  return pieces.flatMap((piece) => {
    const cut = Math.min(left, piece.raw.length);
    left -= cut;
    if (cut === piece.raw.length) return [];
    return [{ ...piece, raw: piece.raw.slice(cut), text: piece.text.slice(cut) }];
  });
}

/** Turns tokens into text as they come, and holds back bytes of an incomplete UTF-8 character. */
export interface TextStream {
  /** The text that this token completes; undefined while a character is incomplete. */
  push(token: Token): TokenText | undefined;
}

/** `before`: the tokens that it continues; absent: a separate text. */
export function textStream(
  model: LlamaModel,
  tokenBytes: TokenBytes,
  before: readonly Token[] = [],
): TextStream {
  return tokenBytes.known
    ? byteTextStream(tokenBytes, tokenBytes.dropsSpaceAfter(before))
    : detokenizingTextStream(model, before);
}

/** Joins the tokens' bytes, without calls to llama.cpp. `dropsSpace`: a leading space is no part of the text. */
function byteTextStream(tokenBytes: TokenBytes, dropsSpace: boolean): TextStream {
  const decoder = new TextDecoder();
  let drops = dropsSpace;
  let tokens = 0;
  return {
    push(token) {
      tokens++;
      const isSpecial = tokenBytes.isSpecial(token);
      let text = isSpecial ? "" : decoder.decode(tokenBytes.of(token), { stream: true });
      if (text === "" && !isSpecial) return undefined;
      if (drops && text.startsWith(" ")) text = text.slice(1);
      drops &&= isSpecial;
      const whole = { text, raw: isSpecial ? tokenBytes.piece(token) : text, tokens };
      tokens = 0;
      return whole;
    },
  };
}

const replacement = "\uFFFD";
/** A UTF-8 character has at most four bytes, so at most four byte tokens. */
const longestCharacter = 4;
/** Preceding tokens needed to know whether a token begins with a space. */
const contextLength = 3;

/** For vocabularies in which a token's text depends on its neighbours. */
function detokenizingTextStream(model: LlamaModel, tokens: readonly Token[]): TextStream {
  let before = tokens.slice(-contextLength);
  let held: Token[] = [];
  return {
    push(token) {
      held.push(token);
      const text = model.detokenize(held, false, before);
      if (text.endsWith(replacement) && held.length < longestCharacter) return undefined;
      // Special tokens have no text; their name is in the raw text only.
      const raw = text === "" ? model.detokenize(held, true) : text;
      const whole = { text, raw, tokens: held.length };
      before = [...before, ...held].slice(-contextLength);
      held = [];
      return whole;
    },
  };
}
