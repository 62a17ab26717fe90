/** Converts answers to a text completion of the OpenAI API, complete or in chunks. */
import { unfinished } from "../../../core/chat/answer-parts.ts";
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";
import { NodeError } from "../../../core/errors.ts";
import type { FinishReason, GenerationEvent, TokenUsage } from "../../../core/ports/chat-engine.ts";
import { nextTurn } from "../../middleware/answer.ts";
import { ChunkWriter, toUsage } from "../../wire/completion.ts";
import { refuse, secondsNow } from "../../wire/fields.ts";
import { ChoiceLogprobs, WrittenLogprobs } from "./logprobs.ts";
import type { Candidates } from "./request.ts";
import type { Completion, CompletionChunk } from "./schema.ts";

type Head = Pick<Completion, "id" | "object" | "created" | "model" | "system_fingerprint">;
type Chunk = CompletionChunk["choices"][number];

export interface Draft {
  text: string;
  logprobs: WrittenLogprobs | undefined;
  /** Log probabilities of the generated tokens. */
  scores: number[];
  /** Whether a part of its text has no log probabilities. */
  isUnscored: boolean;
  finish: { reason: FinishReason; usage: TokenUsage } | undefined;
}

function newHead({ model, fingerprint }: ChatAnswer): Head {
  return {
    id: `cmpl-${crypto.randomUUID()}`,
    object: "text_completion",
    created: secondsNow(),
    model,
    system_fingerprint: fingerprint,
  };
}

/** A `Completion` as JSON, in steps: serializing logprobs of long prompts at once takes seconds. */
export async function toCompletionJson(
  answer: ChatAnswer,
  candidates: Candidates,
  asksLogprobs: boolean,
): Promise<string> {
  const head = newHead(answer);
  const drafts = await readDrafts(answer, asksLogprobs);
  const usages = drafts.map(({ finish }) => {
    if (finish === undefined) throw unfinished();
    return finish.usage;
  });
  const choices: string[] = [];
  for (const [index, { text, logprobs, finish }] of bestOf(drafts, candidates).entries()) {
    const choice = { index, text, finish_reason: toReason(finish?.reason) } satisfies Unscored;
    const scores = asksLogprobs ? (logprobs ?? new WrittenLogprobs()).json : "null";
    choices.push(`${JSON.stringify(choice).slice(0, -1)},"logprobs":${scores}}`);
    if (logprobs !== undefined) await nextTurn();
  }
  const usage = JSON.stringify(toUsage(usages, candidates.generated));
  return `${JSON.stringify(head).slice(0, -1)},"choices":[${choices.join(",")}],"usage":${usage}}`;
}

type Unscored = Omit<Completion["choices"][number], "logprobs">;

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
  for await (const { index, value: event } of events) {
    const draft = drafts[index];
    if (draft === undefined) continue;
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
      if (scored > mostScored) throw tooManyScored();
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

const tooManyScored = (): NodeError =>
  refuse(
    "logprobs",
    `asks with 'echo' for more than ${mostScored} scored tokens of prompts in all answers. Send fewer prompts, a smaller 'n', or 'stream'`,
  );

/** The chunks of a streamed completion, as JSON; the first is sent with the first event. */
export async function* toChunks(
  answer: ChatAnswer,
  { generated }: Candidates,
  includeUsage: boolean,
): AsyncGenerator<string> {
  const { choices, events } = answer;
  const writer = new ChunkWriter<Chunk>(newHead(answer), includeUsage);
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
    if (event.type === "text" && event.echoed === true) await nextTurn();
  }
  if (finished < choices) throw unfinished();
  if (includeUsage) yield writer.usage(toUsage(usages, generated));
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

/** A raw prompt has no tools to call. */
const toReason = (
  reason: FinishReason | undefined,
): Completion["choices"][number]["finish_reason"] =>
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
  throw new NodeError(
    "invalid_request",
    "'best_of' cannot be honoured: the server that this model runs on gives no log probabilities to choose by. Send 'n' and choose yourself.",
    { param: "best_of" },
  );
}
