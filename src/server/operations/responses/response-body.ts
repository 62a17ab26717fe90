/** A response's body: what it was asked with, given back, and what became of it. */
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";
import { given } from "../../../core/given.ts";
import type { FinishReason, TokenUsage } from "../../../core/ports/chat-engine.ts";
import { toRetrievalReport } from "../../wire/retrieval-report.ts";
import { secondsNow } from "../../wire/unix-time.ts";
import { conversationOf } from "./conversation.ts";
import type { OutputItem, ResponseUsage } from "./output-schema.ts";
import type { ResponseRequest } from "./request-schema.ts";
import type { ResponseObject } from "./schema.ts";

export interface ResponseFacts {
  id: string;
  /** Unix time in seconds. */
  createdAt: number;
  body: ResponseRequest;
  /** Whether it is kept. */
  isKept: boolean;
}

/** Before anything has come of it. */
export function begunResponse(
  facts: ResponseFacts,
  status: "queued" | "in_progress",
): ResponseObject {
  const { id, createdAt, body, isKept } = facts;
  const conversation = conversationOf(body);
  return {
    id,
    object: "response",
    created_at: createdAt,
    completed_at: null,
    status,
    error: null,
    incomplete_details: null,
    model: body.model,
    instructions: body.instructions ?? null,
    output: [],
    usage: null,
    previous_response_id: body.previous_response_id ?? null,
    ...(conversation === undefined ? {} : { conversation: { id: conversation } }),
    background: body.background ?? false,
    store: isKept,
    metadata: body.metadata ?? {},
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    temperature: body.temperature ?? null,
    top_p: body.top_p ?? null,
    top_logprobs: body.top_logprobs ?? 0,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    text: { format: body.text?.format ?? { type: "text" } },
    reasoning: { effort: null, summary: null },
    truncation: body.truncation ?? "disabled",
    service_tier: "default",
  };
}

/** What is known of the model and its passages once the answer has begun. */
export const answeredBy = ({
  model,
  fingerprint,
  grounding,
}: Pick<ChatAnswer, "model" | "fingerprint" | "grounding">): Partial<ResponseObject> => ({
  model,
  system_fingerprint: fingerprint,
  ...given({ retrieval: grounding && toRetrievalReport(grounding) }),
});

export function endedResponse(
  begun: ResponseObject,
  output: OutputItem[],
  { reason, usage }: { reason: FinishReason; usage: TokenUsage },
): ResponseObject {
  const cut = cutShort(reason);
  return {
    ...begun,
    status: cut === undefined ? "completed" : "incomplete",
    completed_at: cut === undefined ? secondsNow() : null,
    incomplete_details: cut === undefined ? null : { reason: cut },
    output,
    usage: toResponseUsage(usage),
  };
}

/** Why an answer is not whole; undefined where it is. */
export function cutShort(
  reason: FinishReason,
): NonNullable<ResponseObject["incomplete_details"]>["reason"] | undefined {
  if (reason === "length") return "max_output_tokens";
  return reason === "content_filter" ? reason : undefined;
}

const toResponseUsage = (usage: TokenUsage): ResponseUsage => ({
  input_tokens: usage.promptTokens,
  input_tokens_details: { cached_tokens: usage.cachedTokens },
  output_tokens: usage.completionTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: usage.promptTokens + usage.completionTokens,
});
