/** The request that a conversation makes, and how its answer grows with each chunk. */
import type { ChatRequest } from "../../client/api-client.ts";
import type { ChatCompletionChunk } from "../../client/wire.ts";
import type { AnswerTurn, Conversation, Measures, Settings, Turn } from "./conversation.ts";

/** Most tokens of an answer where neither the reader nor the model's configuration says so: a small model may not end by itself. */
export const mostTokens = 1024;

/** `turns`: those up to the question that is asked; `isLimited`: whether the model has a limit of its own. */
export function toRequest(
  { settings }: Conversation,
  turns: readonly Turn[],
  isLimited: boolean,
): ChatRequest {
  const { model, system, grounded: ___, passages: _, collections: __, ...sampling } = settings;
  return {
    model,
    stream_options: { include_usage: true },
    ...sampling,
    max_tokens: sampling.max_tokens ?? (isLimited ? undefined : mostTokens),
    // `false` is sent too: a node may be configured to ground every chat.
    rag: ragOf(settings),
    messages: [
      ...(system.trim() === "" ? [] : [{ role: "system" as const, content: system }]),
      ...turns
        .filter(({ role, content }) => role === "user" || content !== "")
        .map(({ role, content }) => ({ role, content })),
    ],
  };
}

/** An object only where something is asked beyond what the node does. */
function ragOf({ grounded, passages, collections = [] }: Settings): ChatRequest["rag"] {
  if (grounded === "off") return false;
  const isAuto = grounded === "auto";
  if (passages === undefined && collections.length === 0) return isAuto ? "auto" : true;
  return {
    ...(isAuto ? { auto: true } : {}),
    ...(passages === undefined ? {} : { limit: passages }),
    ...(collections.length === 0 ? {} : { vector_store_ids: [...collections] }),
  };
}

export type Timing = Pick<Measures, "firstTokenMs" | "restMs">;

/** Whether a chunk brings some of the answer, or of the thoughts before it. */
export const hasText = ({ choices }: ChatCompletionChunk): boolean =>
  choices.some(({ delta }) => Boolean(delta.content) || Boolean(delta.reasoning_content));

/** The same turn where the chunk adds nothing, as the first does, which brings the role alone. */
export function withChunk(
  turn: AnswerTurn,
  { choices, usage, retrieval }: ChatCompletionChunk,
  timing: Timing,
): AnswerTurn {
  let grown = turn;
  for (const { delta, finish_reason: reason } of choices) {
    const { content, reasoning_content: thought } = delta;
    if (thought) grown = { ...grown, thoughts: (grown.thoughts ?? "") + thought };
    if (content) grown = { ...grown, content: grown.content + content };
    if (reason !== null) grown = { ...grown, cut: reason === "length" };
  }
  if (usage) {
    const { prompt_tokens: promptTokens, completion_tokens: tokens } = usage;
    grown = { ...grown, measures: { promptTokens, tokens, ...timing } };
  }
  return retrieval === undefined ? grown : { ...grown, retrieval };
}
