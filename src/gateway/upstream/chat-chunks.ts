/** Converts the chunks of a streamed completion into generation events. */
import {
  countAt,
  fieldAt,
  isObject,
  listAt,
  numberAt,
  objectAt,
  textAt,
} from "../../client/json-fields.ts";
import { charactersOf } from "../../core/chat/answer-parts.ts";
import { given } from "../../core/given.ts";
import type {
  Finish,
  FinishReason,
  GenerationEvent,
  TokenLogprob,
  TokenLogprobs,
  TokenUsage,
} from "../../core/ports/chat-engine.ts";
import { pieceLength, piecesOf } from "../../core/text-pieces.ts";
import { BadAnswer, tooMuch } from "./ask.ts";

/** Upper bounds for the server's token counts, since callers are charged for them. An answer may have a token for each character, too: some servers do not count thoughts as asked for. */
export interface MostTokens {
  prompt: number;
  answer: number;
}

interface ChunkBounds {
  tokens: MostTokens;
  /** Of texts, thoughts and tool calls. */
  characters: number;
}

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "content_filter"],
  // Text Generation Inference
  ["eos_token", "stop"],
  ["stop_sequence", "stop"],
]);

/** Tokens of one text, which may be a whole answer: their log probabilities are written at once. */
const mostOfText = 65_536;

/** Thoughts, texts and tool calls of an answer. */
const mostParts = 1024;

/** Entries of one answer in a chunk: servers send one. */
const mostChoices = 16;

export const withoutReason = "an answer that ends without a reason";

export class ChatChunks {
  readonly #most: MostTokens;
  readonly #mostCharacters: number;
  readonly #wantsLogprobs: boolean;
  /** Our index of each tool call, by the server's. */
  readonly #calls = new Map<number, number>();
  /** First half of a surrogate pair, until the second half arrives. */
  #half = "";
  /** The server's index of the one answer that was asked for. */
  #choice: number | undefined;
  /** Log probabilities of tokens whose text is still to come. */
  #logprobs: TokenLogprobs[] = [];
  readonly #room = new LogprobRoom();
  #reason: FinishReason | undefined;
  #stop: string | undefined;
  #parts = 0;
  /** The type of the last part. */
  #part: GenerationEvent["type"] | undefined;
  #characters = 0;
  #usage: TokenUsage | undefined;
  #events = 0;
  #reasoningEvents = 0;

  /** `wantsLogprobs`: whether any were asked for; others are left out. */
  constructor({ tokens, characters }: ChunkBounds, wantsLogprobs: boolean) {
    this.#most = tokens;
    this.#mostCharacters = characters;
    this.#wantsLogprobs = wantsLogprobs;
  }

  get hasFinished(): boolean {
    return this.#reason !== undefined;
  }

  get hasUsage(): boolean {
    return this.#usage !== undefined;
  }

  take(chunk: unknown): GenerationEvent[] {
    const choices = listAt(chunk, "choices");
    if (choices.length > mostChoices) throw new BadAnswer(severalAnswers);
    const events = choices.flatMap((choice) => this.#takeChoice(choice));
    for (const event of events) this.#count(event);
    this.#events += events.length;
    const usage = objectAt(chunk, "usage");
    if (usage !== undefined) this.#usage = this.#toUsage(usage) ?? this.#usage;
    return events.flatMap(inPieces);
  }

  /** The last event. `promptTokens`: an estimate, used if the server did not count. */
  finish(promptTokens: number): Finish {
    if (this.#reason === undefined) throw new BadAnswer(withoutReason);
    const ended = this.#calls.size > 0 ? "tool_calls" : "stop";
    const { answer } = this.#most;
    const usage = this.#usage ?? {
      promptTokens,
      cachedTokens: 0,
      completionTokens: Math.min(this.#events, answer),
      reasoningTokens: Math.min(this.#reasoningEvents, answer),
    };
    // Servers name either of the two where it is the other.
    const reason = ["stop", "tool_calls"].includes(this.#reason) ? ended : this.#reason;
    return { type: "finish", reason, usage, ...given({ stop: this.#stop }) };
  }

  #count(event: GenerationEvent): void {
    this.#characters += charactersOf(event);
    const isMore = event.type === "tool-arguments" || event.type === this.#part;
    if (event.type === "tool-call" || !isMore) {
      this.#part = event.type;
      this.#parts++;
    }
    if (this.#parts > mostParts || this.#characters > this.#mostCharacters)
      throw new BadAnswer(tooMuch);
  }

  #takeChoice(choice: unknown): GenerationEvent[] {
    const index = countAt(choice, "index") ?? this.#choice ?? 0;
    this.#choice ??= index;
    // Several answers to one caller are separate requests.
    if (index !== this.#choice) throw new BadAnswer(severalAnswers);
    const delta = objectAt(choice, "delta");
    const logprobs = this.#wantsLogprobs ? objectAt(choice, "logprobs") : undefined;
    const most = mostOfText - this.#logprobs.length;
    // Not into a new list each time: a server may send them one by one, and their text at the end.
    if (logprobs !== undefined)
      for (const token of toLogprobs(logprobs, most, this.#room)) this.#logprobs.push(token);
    const events = [
      ...this.#reasoning(textAt(delta, "reasoning_content") ?? textAt(delta, "reasoning") ?? ""),
      // Completions without a template have `text` instead of a delta.
      ...this.#text(contentOf(delta) ?? textAt(choice, "text") ?? ""),
      ...listAt(delta, "tool_calls").flatMap((call) => this.#toolCall(call)),
    ];
    const reason = textAt(choice, "finish_reason");
    if (!reason) return events;
    if (reason === "abort" || reason === "error")
      throw new BadAnswer("an answer that it broke off");
    this.#reason = finishReasons.get(reason) ?? "stop";
    // The names in vLLM and SGLang. A number there is the token that ended the answer.
    this.#stop = textAt(choice, "stop_reason") ?? textAt(choice, "matched_stop");
    return events;
  }

  #reasoning(text: string): GenerationEvent[] {
    if (text === "") return [];
    this.#reasoningEvents++;
    return [{ type: "reasoning", text }];
  }

  #text(piece: string): GenerationEvent[] {
    const whole = this.#half + piece;
    this.#half = /[\uD800-\uDBFF]$/.exec(whole)?.[0] ?? "";
    const text = whole.slice(0, whole.length - this.#half.length);
    if (text === "") return [];
    const logprobs = this.#logprobs.length === 0 ? undefined : this.#logprobs;
    this.#logprobs = [];
    return [{ type: "text", text, ...given({ logprobs }) }];
  }

  #toolCall(call: unknown): GenerationEvent[] {
    const fn = objectAt(call, "function");
    const theirs = countAt(call, "index") ?? this.#calls.size;
    const sent = objectAt(fn, "arguments");
    // Some servers send an object.
    const text = sent === undefined ? (textAt(fn, "arguments") ?? "") : JSON.stringify(sent);
    const known = this.#calls.get(theirs);
    const index = known ?? this.#calls.size;
    const pieces: GenerationEvent[] = text === "" ? [] : [{ type: "tool-arguments", index, text }];
    if (known !== undefined) return pieces;
    const name = textAt(fn, "name");
    if (name === undefined || name === "") throw new BadAnswer("a tool call without a name");
    this.#calls.set(theirs, index);
    const id = textAt(call, "id") || `call_${crypto.randomUUID()}`;
    return [{ type: "tool-call", index, id, name }, ...pieces];
  }

  /** Undefined where a count is none, or of nothing, which is then estimated: callers are charged for it. */
  #toUsage(usage: object): TokenUsage | undefined {
    const { prompt, answer } = this.#most;
    const [asked, answered] = ["prompt_tokens", "completion_tokens"].map((of) =>
      countAt(usage, of),
    );
    if (!asked || answered === undefined || (answered === 0 && this.#events > 0)) return undefined;
    const promptTokens = Math.min(prompt, asked);
    const completionTokens = Math.min(Math.max(answer, this.#characters), answered);
    const ofPrompt = objectAt(usage, "prompt_tokens_details");
    const ofAnswer = objectAt(usage, "completion_tokens_details");
    return {
      promptTokens,
      cachedTokens: Math.min(promptTokens, countAt(ofPrompt, "cached_tokens") ?? 0),
      completionTokens,
      reasoningTokens: Math.min(
        completionTokens,
        countAt(ofAnswer, "reasoning_tokens") ?? this.#reasoningEvents,
      ),
    };
  }
}

/** A long text as several events, so that a reader that is behind holds up the server. Log probabilities are in the order of their text, which stays whole. */
function inPieces(event: GenerationEvent): readonly GenerationEvent[] {
  if (!("text" in event) || event.text.length <= pieceLength) return [event];
  if (event.type === "text" && event.logprobs !== undefined) return [event];
  return Array.from(piecesOf(event.text), (text) => ({ ...event, text }));
}

function contentOf(delta: unknown): string | undefined {
  const content = fieldAt(delta, "content") ?? undefined;
  if (content === undefined || typeof content === "string") return content;
  throw new BadAnswer("with a content that is no text");
}

const severalAnswers = "with several answers where one was asked for";

/**
 * Log probabilities as servers send them: some omit the bytes, and some the alternatives. Of `most`
 * tokens: they are counted before they are read.
 */
function toLogprobs(logprobs: object, most: number, room: LogprobRoom): TokenLogprobs[] {
  const content = listAt(logprobs, "content");
  const tokens = listAt(logprobs, "tokens");
  if (Math.max(content.length, tokens.length) > most) {
    throw new BadAnswer("with log probabilities of more tokens than an answer has");
  }
  if (content.length === 0) return fromLists(logprobs, tokens, room);
  return content.map((token) => ({
    ...toLogprob(token, room),
    top: listAt(token, "top_logprobs").map((other) => toLogprob(other, room)),
  }));
}

/** Tokens and alternatives of an answer: without a stream they are written at once. */
const mostScored = 500_000;
/** Bytes of all of them: each is written as a number. */
const mostTokenBytes = 4 * 1024 * 1024;

/** What is left of an answer's log probabilities. */
class LogprobRoom {
  #scored = mostScored;
  #bytes = mostTokenBytes;

  /** Before a token of so many bytes is read. */
  take(bytes: number): void {
    this.#scored--;
    this.#bytes -= bytes;
    if (this.#scored < 0 || this.#bytes < 0) {
      throw new BadAnswer("with more log probabilities than any answer has");
    }
  }
}

/** The older format, of completions without a template: parallel lists. */
function fromLists(
  logprobs: object,
  tokens: readonly unknown[],
  room: LogprobRoom,
): TokenLogprobs[] {
  const values = listAt(logprobs, "token_logprobs");
  const tops = listAt(logprobs, "top_logprobs");
  return tokens.map((token, at) => {
    const top = tops[at];
    return {
      ...fromName(token, values[at], room),
      top: Object.entries(isObject(top) ? top : {})
        .map(([name, value]) => fromName(name, value, room))
        .sort((one, other) => other.logprob - one.logprob),
    };
  });
}

function fromName(token: unknown, logprob: unknown, room: LogprobRoom): TokenLogprob {
  const text = typeof token === "string" ? token : "";
  room.take(text.length);
  const bytes = text.startsWith("bytes:")
    ? [...text.matchAll(/\\x([0-9a-f]{2})/gi)].map(([, hex = ""]) => Number.parseInt(hex, 16))
    : [...new TextEncoder().encode(text)];
  const isKnown = typeof logprob === "number" && Number.isFinite(logprob);
  return { token: text, logprob: isKnown ? logprob : impossible, bytes };
}

/** Stands for minus infinity, which JSON does not have. */
const impossible = -9999;

function toLogprob(value: unknown, room: LogprobRoom): TokenLogprob {
  const token = textAt(value, "token");
  if (token === undefined) throw new BadAnswer("with a log probability of no token");
  const sent = listAt(value, "bytes");
  room.take(Math.max(token.length, sent.length));
  const bytes = sent.filter((byte) => typeof byte === "number");
  return {
    token,
    logprob: numberAt(value, "logprob") ?? impossible,
    bytes: bytes.length > 0 ? bytes : [...new TextEncoder().encode(token)],
  };
}
