/** Schemas of responses: items, the response object and stream events. */
import { type Static, Type as T, type TProperties } from "@sinclair/typebox";
import { responseStatuses } from "../../../core/ports/response-store.ts";
import { Metadata } from "../../wire/attributes.ts";
import { Logprobs } from "../../wire/completion.ts";
import { count, oneOf, optional, orNull } from "../../wire/fields.ts";
import { RetrievalReport } from "../../wire/grounding.ts";
import { ResponseTool, TextFormat, ToolChoice } from "./tool-schema.ts";

/** Being written, complete, or cut short. */
const ItemStatus = oneOf(["in_progress", "completed", "incomplete"]);

export const Annotation = T.Object(
  {
    type: T.Literal("file_citation"),
    file_id: T.String(),
    filename: T.String(),
    index: count("Where in the text the marker stands."),
  },
  { description: "A passage that the text names by its marker." },
);

export type Annotation = Static<typeof Annotation>;

export const OutputText = T.Object({
  type: T.Literal("output_text"),
  text: T.String(),
  annotations: T.Array(Annotation),
  logprobs: T.Optional(Logprobs),
});

export type OutputText = Static<typeof OutputText>;

const ReasoningText = T.Object({ type: T.Literal("reasoning_text"), text: T.String() });

const OutputMessage = T.Object({
  type: T.Literal("message"),
  id: T.String(),
  status: ItemStatus,
  role: T.Literal("assistant"),
  content: T.Array(OutputText),
});

const FunctionCall = T.Object({
  type: T.Literal("function_call"),
  id: T.String(),
  status: ItemStatus,
  call_id: T.String({ description: "What its `function_call_output` names." }),
  name: T.String(),
  namespace: optional(T.String(), "The one that the function was offered in, if any."),
  arguments: T.String({ description: "JSON." }),
});

const Reasoning = T.Object({
  type: T.Literal("reasoning"),
  id: T.String(),
  status: ItemStatus,
  summary: T.Array(T.Unknown(), { description: "Always empty: nothing sums thoughts up." }),
  content: T.Array(ReasoningText, { description: "A reasoning model's thoughts." }),
});

const attribute = T.Union([T.String(), T.Number(), T.Boolean()]);

export const FileSearchCall = T.Object({
  type: T.Literal("file_search_call"),
  id: T.String(),
  status: oneOf(["in_progress", "searching", "completed", "incomplete", "failed"]),
  queries: T.Array(T.String()),
  results: orNull(
    T.Array(
      T.Object({
        file_id: T.String(),
        filename: T.String(),
        score: T.Number(),
        text: T.String(),
        attributes: T.Record(T.String(), attribute),
      }),
    ),
    { description: 'With `include: ["file_search_call.results"]`; else null.' },
  ),
});

export type FileSearchCall = Static<typeof FileSearchCall>;

export const OutputItem = T.Union([OutputMessage, FunctionCall, Reasoning, FileSearchCall]);

export type OutputItem = Static<typeof OutputItem>;

const ResponseUsage = T.Object({
  input_tokens: count(),
  input_tokens_details: T.Object({
    cached_tokens: count("Those that needed no evaluation."),
  }),
  output_tokens: count(),
  output_tokens_details: T.Object({
    reasoning_tokens: count("Those that were thoughts."),
  }),
  total_tokens: count(),
});

export const ResponseObject = T.Object({
  id: T.String({ pattern: "^resp_[0-9a-f]{32}$" }),
  object: T.Literal("response"),
  created_at: T.Integer({ description: "Unix time in seconds." }),
  completed_at: orNull(T.Integer({ description: "Unix time in seconds." })),
  status: T.Union(
    responseStatuses.map((status) => T.Literal(status)),
    { description: "`queued` and `cancelled` are of responses that are made in the background." },
  ),
  error: orNull(
    T.Object(
      { code: T.String(), message: T.String() },
      { description: "Why there is no answer, where the status is `failed`." },
    ),
  ),
  incomplete_details: orNull(
    T.Object(
      { reason: oneOf(["max_output_tokens", "content_filter"]) },
      { description: "Why the answer was cut short, where the status is `incomplete`." },
    ),
  ),
  model: T.String(),
  instructions: orNull(T.String()),
  output: T.Array(OutputItem),
  usage: orNull(ResponseUsage),
  previous_response_id: orNull(T.String()),
  conversation: optional(
    T.Object({ id: T.String() }),
    "The conversation that it was made in, if it was made in one.",
  ),
  background: T.Boolean(),
  store: T.Boolean({ description: "Whether the response is stored, and can be read later." }),
  metadata: Metadata,
  max_output_tokens: orNull(T.Integer()),
  max_tool_calls: orNull(T.Integer()),
  temperature: orNull(T.Number({ description: "As asked for; null: the model's own." })),
  top_p: orNull(T.Number({ description: "As asked for; null: the model's own." })),
  top_logprobs: T.Integer(),
  parallel_tool_calls: T.Boolean(),
  tool_choice: ToolChoice,
  tools: T.Array(ResponseTool),
  text: T.Object({ format: TextFormat }),
  reasoning: T.Object(
    { effort: T.Null(), summary: T.Null() },
    { description: "A model thinks as long as it does, and nothing sums its thoughts up." },
  ),
  truncation: oneOf(["auto", "disabled"]),
  truncated_messages: optional(
    T.Integer({ minimum: 1 }),
    "How many of the oldest messages of the conversation were left out so that it fits, with `truncation: auto`. An extension.",
  ),
  service_tier: T.Literal("default"),
  system_fingerprint: optional(
    T.String(),
    "Changes only when the weights, the engine's build or the model's settings do. An extension.",
  ),
  retrieval: T.Optional(RetrievalReport),
});

export type ResponseObject = Static<typeof ResponseObject>;

const at = count();

/** The schema of event types with the same fields. */
const events = <Name extends string, Fields extends TProperties>(
  types: readonly Name[],
  fields: Fields,
) =>
  T.Object({
    type: T.Union(types.map((type) => T.Literal(type))),
    sequence_number: at,
    ...fields,
  });

const inItem = { item_id: T.String(), output_index: at };
const inPart = { ...inItem, content_index: at };

export const ResponseStreamEvent = T.Union([
  events(
    [
      "response.queued",
      "response.created",
      "response.in_progress",
      "response.completed",
      "response.incomplete",
      "response.failed",
    ],
    { response: ResponseObject },
  ),
  events(["response.output_item.added", "response.output_item.done"], {
    output_index: at,
    item: OutputItem,
  }),
  events(["response.content_part.added", "response.content_part.done"], {
    ...inPart,
    part: T.Union([OutputText, ReasoningText]),
  }),
  events(["response.output_text.delta"], { ...inPart, delta: T.String(), logprobs: Logprobs }),
  events(["response.output_text.done"], { ...inPart, text: T.String(), logprobs: Logprobs }),
  events(["response.output_text.annotation.added"], {
    ...inPart,
    annotation_index: at,
    annotation: Annotation,
  }),
  events(["response.reasoning_text.delta"], { ...inPart, delta: T.String() }),
  events(["response.reasoning_text.done"], { ...inPart, text: T.String() }),
  events(["response.function_call_arguments.delta"], { ...inItem, delta: T.String() }),
  events(["response.function_call_arguments.done"], { ...inItem, arguments: T.String() }),
  events(
    [
      "response.file_search_call.in_progress",
      "response.file_search_call.searching",
      "response.file_search_call.completed",
    ],
    inItem,
  ),
  events(["error"], {
    code: orNull(T.String()),
    message: T.String(),
    param: orNull(T.String()),
  }),
]);

export type ResponseStreamEvent = Static<typeof ResponseStreamEvent>;
