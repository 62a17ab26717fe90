/** Builds the request for a conversation, and adds chunks to its answer. */
import type { ChatRequest } from "../../client/api-client.ts";
import type { ChatCompletionChunk } from "../../client/wire.ts";
import type { AnswerTurn, Conversation, Measures, Settings, Turn } from "./conversation.ts";

/** Default limit of an answer's tokens, since a small model may not end by itself. */
export const mostTokens = 1024;

/** `turns`: up to the question. `isLimited`: whether the model's configuration has a limit. */
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

/** An object only if something differs from the node's defaults. */
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

/** Whether a chunk contains text of the answer or of its reasoning. */
export const hasText = ({ choices }: ChatCompletionChunk): boolean =>
  choices.some(({ delta }) => Boolean(delta.content) || Boolean(delta.reasoning_content));

/** Returns the same turn if the chunk adds nothing, such as the first, which has only the role. */
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
