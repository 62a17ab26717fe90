/** Converts answers to a text completion of the OpenAI API, complete or in chunks. */

import { AnswerRoom, unfinished } from "../../../core/chat/answer-parts.ts";
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";
import type {
  FinishReason,
  GenerationEvent,
  TokenLogprob,
  TokenUsage,
} from "../../../core/ports/chat-engine.ts";
import { nextTurn } from "../../../core/turns.ts";
import { ChunkWriter, newHead, toUsage } from "../../wire/completion.ts";
import { refuse } from "../../wire/fields.ts";
import type { Completion, CompletionChunk } from "./schema.ts";

type Chunk = CompletionChunk["choices"][number];

/** How many answers each prompt gets, and how many of them are sent. */
export interface Candidates {
  generated: number;
  sent: number;
  areRanked: boolean;
}

export interface Draft {
  text: string;
  logprobs: WrittenLogprobs | undefined;
  scores: number[];
  /** Whether a part of its text has no log probabilities. */
  isUnscored: boolean;
  finish: { reason: FinishReason; usage: TokenUsage } | undefined;
}

/** A `Completion` as JSON, in steps: serializing logprobs of long prompts at once takes seconds. */
export async function toCompletionJson(
  answer: ChatAnswer,
  candidates: Candidates,
  asksLogprobs: boolean,
): Promise<string> {
  const head = newHead("cmpl", "text_completion", answer);
  const drafts = await readDrafts(answer, asksLogprobs);
  const usages = drafts.flatMap(({ finish }) => finish?.usage ?? []);
  if (usages.length < drafts.length) throw unfinished();
  const choices: string[] = [];
  for (const [index, { text, logprobs, finish }] of bestOf(drafts, candidates).entries()) {
    const choice = { index, text, finish_reason: toReason(finish?.reason) };
    const scores = asksLogprobs ? (logprobs ?? new WrittenLogprobs()).json : "null";
    choices.push(`${JSON.stringify(choice).slice(0, -1)},"logprobs":${scores}}`);
    if (logprobs !== undefined) await nextTurn();
  }
  const usage = JSON.stringify(toUsage(usages, candidates.generated));
  return `${JSON.stringify(head).slice(0, -1)},"choices":[${choices.join(",")}],"usage":${usage}}`;
}

async function readDrafts(
  { choices, events }: ChatAnswer,
  asksLogprobs: boolean,
): Promise<Draft[]> {
  let scored = 0;
  const drafts = Array.from({ length: choices }, (): Draft & { places: ChoiceLogprobs } => ({
    text: "",
    logprobs: undefined,
    scores: [],
    isUnscored: false,
    finish: undefined,
    places: new ChoiceLogprobs(),
  }));
  const room = new AnswerRoom();
  for await (const { index, value: event } of events) {
    const draft = drafts[index];
    if (draft === undefined) continue;
    room.take(event);
    if (event.type === "finish") draft.finish = event;
    if (event.type !== "text") continue;
    draft.text += event.text;
    const more = asksLogprobs ? draft.places.of(event) : undefined;
    if (more !== undefined) {
      draft.logprobs ??= new WrittenLogprobs();
      draft.logprobs.add(more);
    }
    if (event.echoed === true) {
      scored += more?.tokens.length ?? 0;
      if (scored > mostScored) {
        throw refuse(
          "logprobs",
          `asks with 'echo' for more than ${mostScored} scored tokens of prompts in all answers. Send fewer prompts, a smaller 'n', or 'stream'`,
        );
      }
      await nextTurn();
      continue;
    }
    if (event.logprobs === undefined) draft.isUnscored = true;
    for (const { logprob } of event.logprobs ?? []) draft.scores.push(logprob);
  }
  return drafts;
}

/** Most scored prompt tokens of an answer, which is held in memory: 128 prompts of 2,048 tokens. */
const mostScored = 262_144;

/** The chunks of a streamed completion, as JSON; the first is sent with the first event. */
export async function* toChunks(
  answer: ChatAnswer,
  { generated }: Candidates,
  includeUsage: boolean,
): AsyncGenerator<string> {
  const { choices, events } = answer;
  const writer = new ChunkWriter<Chunk>(newHead("cmpl", "text_completion", answer), includeUsage);
  const places = Array.from({ length: choices }, () => new ChoiceLogprobs());
  const usages = new Map<number, TokenUsage>();
  for await (const { index, value: event } of events) {
    if (event.type === "finish") {
      usages.set(index, event.usage);
      const finish_reason = toReason(event.reason);
      yield writer.choice({ index, text: "", logprobs: null, finish_reason });
    }
    if (event.type !== "text") continue;
    const logprobs = places[index]?.of(event) ?? null;
    yield writer.choice({ index, text: event.text, logprobs, finish_reason: null });
    if (event.echoed === true) await nextTurn();
  }
  if (usages.size < choices) throw unfinished();
  const inOrder = places.flatMap((_, index) => usages.get(index) ?? []);
  if (includeUsage) yield writer.usage(toUsage(inOrder, generated));
}

/** A raw prompt has no tools to call. */
const toReason = (reason: FinishReason | undefined) =>
  reason === "length" || reason === "content_filter" ? reason : "stop";

/** The answers to send: the best of each prompt by log probability per token, in prompt order. */
export function bestOf(
  drafts: readonly Draft[],
  { generated, sent, areRanked }: Candidates,
): readonly Draft[] {
  if (!areRanked) return drafts;
  return Array.from({ length: drafts.length / generated }, (_, at) =>
    drafts
      .slice(at * generated, (at + 1) * generated)
      .map((draft) => ({ draft, score: scoreOf(draft) }))
      .sort((one, other) => other.score - one.score)
      .slice(0, sent)
      .map(({ draft }) => draft),
  ).flat();
}

/** An answer without text ranks last. */
function scoreOf({ scores, isUnscored }: Draft): number {
  if (!isUnscored && scores.length === 0) return Number.NEGATIVE_INFINITY;
  if (!isUnscored) return scores.reduce((sum, score) => sum + score, 0) / scores.length;
  throw refuse(
    "best_of",
    "cannot be honoured: the server that this model runs on gives no log probabilities to choose by. Send 'n' and choose yourself",
  );
}

/** Parallel lists, with each token's offset in the text. */
type Logprobs = NonNullable<Completion["choices"][number]["logprobs"]>;
type TextEvent = Extract<GenerationEvent, { type: "text" }>;

/** Tracks the text of one choice, since offsets count from its beginning. */
export class ChoiceLogprobs {
  #offset = 0;
  /** Offsets in the prompt, whose tokens may arrive in several events. */
  #prompt: TextPlaces | undefined;

  /** The log probabilities of the next event, if they were requested. */
  of({ text, logprobs, echoed }: TextEvent): Logprobs | undefined {
    const begins = echoed === true && this.#prompt === undefined;
    const places = this.#placesIn(text, echoed === true);
    if (logprobs === undefined) return undefined;
    const all: Logprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
    for (const token of logprobs) {
      // The first token of a prompt has no context, so no probability.
      const isFirst = begins && all.tokens.length === 0;
      all.tokens.push(tokenText(token));
      all.token_logprobs.push(isFirst ? null : token.logprob);
      all.top_logprobs.push(isFirst ? null : toTop([...token.top, token]));
      all.text_offset.push(places.next(token.bytes));
    }
    return all;
  }

  #placesIn(text: string, isPrompt: boolean): TextPlaces {
    const start = this.#offset;
    this.#offset += characters(text);
    if (!isPrompt) return new TextPlaces(text, start);
    this.#prompt ??= new TextPlaces(text, start);
    return this.#prompt;
  }
}

class TextPlaces {
  readonly #text: string;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** The position in UTF-16 units; `#characters` is the same in code points. */
  #at = 0;
  #characters: number;

  constructor(text: string, start: number) {
    this.#text = text;
    this.#characters = start;
  }

  next(bytes: readonly number[]): number {
    const place = this.#characters;
    const written = this.#decoder.decode(Uint8Array.from(bytes), { stream: true });
    // The text lacks the space that a tokenizer puts before it, and special tokens have no text.
    const part = [written, written.replace(/^ /, "")].find((one) =>
      this.#text.startsWith(one, this.#at),
    );
    this.#at += part?.length ?? 0;
    this.#characters += characters(part ?? "");
    return place;
  }
}

const toTop = (tokens: readonly TokenLogprob[]): Record<string, number> =>
  Object.fromEntries(tokens.map((token) => [tokenText(token), token.logprob]));

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Incomplete characters would all look the same, so they are written as bytes. */
function tokenText({ bytes }: TokenLogprob): string {
  try {
    return strict.decode(Uint8Array.from(bytes));
  } catch {
    return `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}`;
  }
}

/** The length in code points, the unit of the API. */
function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const names = ["tokens", "token_logprobs", "top_logprobs", "text_offset"] as const;

/** A choice's logprobs, serialized as they come: at the end, long ones would block the loop. */
export class WrittenLogprobs {
  readonly #parts = names.map((name): { name: keyof Logprobs; written: string[] } => ({
    name,
    written: [],
  }));

  add(more: Logprobs): void {
    if (more.tokens.length === 0) return;
    for (const { name, written } of this.#parts) {
      written.push(JSON.stringify(more[name]).slice(1, -1));
    }
  }

  get json(): string {
    const lists = this.#parts.map(({ name, written }) => `"${name}":[${written.join(",")}]`);
    return `{${lists.join(",")}}`;
  }
}
