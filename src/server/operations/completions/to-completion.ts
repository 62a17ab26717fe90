/** The answers to prompts as the OpenAI API's completion, whole or in chunks. */
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";
import type { FinishReason, GenerationEvent, TokenUsage } from "../../../core/ports/chat-engine.ts";
import { unfinished } from "../../wire/broken-answer.ts";
import { ChunkWriter } from "../../wire/completion-chunks.ts";
import { secondsNow } from "../../wire/unix-time.ts";
import { bestOf } from "./best-of.ts";
import { append, ChoiceLogprobs, type Logprobs, noLogprobs } from "./logprobs.ts";
import type { Completion, CompletionChunk } from "./schema.ts";
import { sumUsage } from "./usage.ts";
import type { Candidates } from "./wire.ts";

/** What every part of one completion shares. */
type Head = Pick<Completion, "id" | "object" | "created" | "model" | "system_fingerprint">;
type Chunk = CompletionChunk["choices"][number];

/** One answer while its events come in. */
export interface Draft {
  text: string;
  logprobs: Logprobs | undefined;
  /** Of the tokens that were generated. */
  scores: number[];
  /** Whether some of its text came without log probabilities. */
  isUnscored: boolean;
  finish: { reason: FinishReason; usage: TokenUsage } | undefined;
}

export function newHead({ model, fingerprint }: ChatAnswer): Head {
  return {
    id: `cmpl-${crypto.randomUUID()}`,
    object: "text_completion",
    created: secondsNow(),
    model,
    system_fingerprint: fingerprint,
  };
}

export async function toCompletion(
  head: Head,
  answer: ChatAnswer,
  candidates: Candidates,
  asksLogprobs: boolean,
): Promise<Completion> {
  const drafts = await readDrafts(answer);
  const usages = drafts.map(({ finish }) => {
    if (finish === undefined) throw unfinished();
    return finish.usage;
  });
  return {
    ...head,
    choices: bestOf(drafts, candidates).map(({ text, logprobs, finish }, index) => ({
      index,
      text,
      logprobs: asksLogprobs ? (logprobs ?? noLogprobs()) : null,
      finish_reason: toReason(finish?.reason),
    })),
    usage: sumUsage(usages, candidates.generated),
  };
}

async function readDrafts({ choices, events }: ChatAnswer): Promise<Draft[]> {
  const drafts = Array.from({ length: choices }, (): Draft & { places: ChoiceLogprobs } => ({
    text: "",
    logprobs: undefined,
    scores: [],
    isUnscored: false,
    finish: undefined,
    places: new ChoiceLogprobs(),
  }));
  for await (const { index, value: event } of events) {
    const draft = drafts[index];
    if (draft === undefined) continue;
    if (event.type === "finish") draft.finish = event;
    if (event.type !== "text") continue;
    draft.text += event.text;
    const more = draft.places.of(event);
    if (more !== undefined) {
      draft.logprobs ??= noLogprobs();
      append(draft.logprobs, more);
    }
    if (event.echoed === true) continue;
    if (event.logprobs === undefined) draft.isUnscored = true;
    for (const { logprob } of event.logprobs ?? []) draft.scores.push(logprob);
  }
  return drafts;
}

/** The chunks of a streamed completion, as JSON; the first comes with the first event. */
export async function* toChunks(
  head: Head,
  { choices, events }: ChatAnswer,
  { generated }: Candidates,
  includeUsage: boolean,
): AsyncGenerator<string> {
  const writer = new ChunkWriter<Chunk>(head, includeUsage);
  const places = Array.from({ length: choices }, () => new ChoiceLogprobs());
  const usages: TokenUsage[] = [];
  let finished = 0;
  for await (const { index, value: event } of events) {
    if (event.type === "finish") {
      usages[index] = event.usage;
      finished++;
    }
    const choice = toChunk(index, event, places[index]);
    if (choice !== undefined) yield writer.choice(choice);
  }
  if (finished < choices) throw unfinished();
  if (includeUsage) yield writer.usage(sumUsage(usages, generated));
}

function toChunk(
  index: number,
  event: GenerationEvent,
  places: ChoiceLogprobs | undefined,
): Chunk | undefined {
  if (event.type === "finish") {
    return { index, text: "", logprobs: null, finish_reason: toReason(event.reason) };
  }
  if (event.type !== "text") return undefined;
  return { index, text: event.text, logprobs: places?.of(event) ?? null, finish_reason: null };
}

/** A prompt as it stands has no tools to call. */
const toReason = (
  reason: FinishReason | undefined,
): Completion["choices"][number]["finish_reason"] =>
  reason === "length" || reason === "content_filter" ? reason : "stop";
