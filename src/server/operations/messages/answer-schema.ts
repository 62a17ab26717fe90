/** Schemas of answers in Anthropic's Messages API: messages, events, token counts and errors. */
import { type Static, Type as T } from "@sinclair/typebox";
import { count, oneOf, orNull } from "../../wire/fields.ts";
import { RetrievalReport } from "../../wire/grounding.ts";

const ContentBlock = T.Union([
  T.Object({ type: T.Literal("text"), text: T.String() }),
  T.Object({
    type: T.Literal("thinking"),
    thinking: T.String({ description: "The thoughts of a reasoning model." }),
    signature: T.String({ description: "A digest of the thoughts; the node does not check it." }),
  }),
  T.Object({
    type: T.Literal("tool_use"),
    id: T.String(),
    name: T.String(),
    input: T.Unknown(),
    caller: T.Object({ type: T.Literal("direct") }),
  }),
]);

export type ContentBlock = Static<typeof ContentBlock>;

const StopReason = oneOf(
  [
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "refusal",
    "model_context_window_exceeded",
  ],
  { description: "`refusal` comes from an upstream server." },
);

export type StopReason = Static<typeof StopReason>;

const DeltaUsage = T.Object({
  input_tokens: count("Those of the prompt that were evaluated for this answer."),
  cache_creation_input_tokens: T.Literal(0),
  cache_read_input_tokens: count("Those of the prompt that needed no evaluation."),
  output_tokens: count(),
  output_tokens_details: T.Object({ thinking_tokens: count("Those of thoughts.") }),
  server_tool_use: T.Null(),
});

export type DeltaUsage = Static<typeof DeltaUsage>;

const end = {
  stop_reason: orNull(StopReason),
  stop_sequence: orNull(T.String({ description: "The stop sequence that ended the answer." })),
  stop_details: orNull(
    T.Object({ type: T.Literal("refusal"), category: T.Null(), explanation: T.Null() }),
  ),
  container: T.Null(),
};

export const Message = T.Object({
  id: T.String({ pattern: "^msg_[0-9a-f]{32}$" }),
  type: T.Literal("message"),
  role: T.Literal("assistant"),
  model: T.String(),
  content: T.Array(ContentBlock),
  ...end,
  diagnostics: T.Null(),
  usage: T.Object({
    ...DeltaUsage.properties,
    cache_creation: T.Null(),
    inference_geo: T.Null(),
    service_tier: T.Literal("standard"),
    speed: T.Null(),
  }),
  retrieval: T.Optional(RetrievalReport),
});

export type Message = Static<typeof Message>;

const Delta = T.Union([
  T.Object({ type: T.Literal("text_delta"), text: T.String() }),
  T.Object({ type: T.Literal("thinking_delta"), thinking: T.String() }),
  T.Object({ type: T.Literal("signature_delta"), signature: T.String() }),
  T.Object({ type: T.Literal("input_json_delta"), partial_json: T.String() }),
]);

export type Delta = Static<typeof Delta>;

export const ErrorBody = T.Object({
  type: T.Literal("error"),
  error: T.Object({
    type: T.String({ description: "The reason, for a program." }),
    message: T.String({ description: "What happened and what to do, for a person." }),
    details: T.Optional(T.Object({ error_code: T.String() })),
  }),
  request_id: T.String(),
});

export const MessageEvent = T.Union([
  T.Object({ type: T.Literal("message_start"), message: Message }),
  T.Object({ type: T.Literal("ping") }),
  T.Object({ type: T.Literal("content_block_start"), index: count(), content_block: ContentBlock }),
  T.Object({ type: T.Literal("content_block_delta"), index: count(), delta: Delta }),
  T.Object({ type: T.Literal("content_block_stop"), index: count() }),
  T.Object({ type: T.Literal("message_delta"), delta: T.Object(end), usage: DeltaUsage }),
  T.Object({ type: T.Literal("message_stop") }),
  ErrorBody,
]);

/** The events of an answer; error events are written by the event stream. */
export type MessageEvent = Exclude<Static<typeof MessageEvent>, { type: "error" }>;

export const TokenCount = T.Object({
  input_tokens: count("Of system prompt, messages and tools."),
});
