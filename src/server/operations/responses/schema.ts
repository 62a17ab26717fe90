/** Schemas of responses: items, the response object and stream events. */
import { type ArrayOptions, type Static, Type as T, type TProperties } from "@sinclair/typebox";
import { responseStatuses } from "../../../core/ports/response-store.ts";
import { Metadata, ShownAttributes } from "../../wire/attributes.ts";
import { CachedTokens, Logprobs, ReasoningTokens } from "../../wire/completion.ts";
import * as f from "../../wire/fields.ts";
import { formatFields } from "../../wire/generation-fields.ts";
import { RetrievalReport } from "../../wire/grounding.ts";
import { ResponseTool, ToolChoice } from "./tools.ts";

/** Values of `include` that this node supports: details that are shown only on request. */
export const served = {
  searchResults: "file_search_call.results",
  logprobs: "message.output_text.logprobs",
} as const;

const noTool = "The node does not have the tool.";

/** All values of `include` in OpenAI's API. */
const Includable = T.Union([
  T.Literal(served.searchResults, { description: "The passages that a search found." }),
  T.Literal(served.logprobs, { description: "The log probability of each token of the text." }),
  f.ignoredAs(T.Literal("web_search_call.results"), noTool),
  f.ignoredAs(T.Literal("web_search_call.action.sources"), noTool),
  f.acceptedAs(
    T.Literal("message.input_image.image_url"),
    "Images of the input are listed as they were sent.",
  ),
  f.ignoredAs(T.Literal("computer_call_output.output.image_url"), noTool),
  f.ignoredAs(T.Literal("code_interpreter_call.outputs"), noTool),
  f.ignoredAs(T.Literal("reasoning.encrypted_content"), "Thoughts are not encrypted."),
]);

export type Includable = Static<typeof Includable>;

export const includeList = (options: ArrayOptions = {}) =>
  T.Array(Includable, { maxItems: 32, ...options });

export const TextFormat = T.Union(
  [
    f.openObject({ type: T.Literal("text") }),
    f.openObject({ type: T.Literal("json_object") }),
    f.openObject({ type: T.Literal("json_schema"), ...formatFields }),
  ],
  {
    "x-expected": "{type: 'text'}, {type: 'json_object'} or {type: 'json_schema', name, schema}",
    description:
      "The text's format, enforced by a grammar: the text is valid, unless the response is `incomplete`.",
  },
);

const ItemStatus = f.oneOf(["in_progress", "completed", "incomplete"]);

export const Annotation = T.Object(
  {
    type: T.Literal("file_citation"),
    file_id: T.String(),
    filename: T.String(),
    index: f.count("Where the marker is in the text."),
  },
  { description: "A passage that the text names by its marker: the first 1,000 of an answer." },
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
  call_id: T.String({ description: "Its `function_call_output` names it." }),
  name: T.String(),
  namespace: f.optional(T.String(), "The function's namespace, if any."),
  arguments: T.String({ description: "JSON." }),
});

const Reasoning = T.Object({
  type: T.Literal("reasoning"),
  id: T.String(),
  status: ItemStatus,
  summary: T.Array(T.Unknown(), { description: "Always empty." }),
  content: T.Array(ReasoningText, { description: "The thoughts of a reasoning model." }),
});

export const FileSearchCall = T.Object({
  type: T.Literal("file_search_call"),
  id: T.String(),
  status: f.oneOf(["in_progress", "searching", "completed", "incomplete", "failed"]),
  queries: T.Array(T.String()),
  results: f.orNull(
    T.Array(
      T.Object({
        file_id: T.String(),
        filename: T.String(),
        score: T.Number(),
        text: T.String(),
        attributes: ShownAttributes,
      }),
    ),
    { description: 'With `include: ["file_search_call.results"]`; else null.' },
  ),
});

export type FileSearchCall = Static<typeof FileSearchCall>;

export const OutputItem = T.Union([OutputMessage, FunctionCall, Reasoning, FileSearchCall]);

export type OutputItem = Static<typeof OutputItem>;

/** An item of a stored response's input, or of a conversation. */
export const ListedItem = f.openObject(
  { id: T.String(), type: T.Optional(T.String()) },
  { description: "A message, a call, its output, thoughts or a search." },
);

const ResponseUsage = T.Object({
  input_tokens: f.count(),
  input_tokens_details: CachedTokens,
  output_tokens: f.count(),
  output_tokens_details: ReasoningTokens,
  total_tokens: f.count(),
});

export const ResponseObject = T.Object({
  id: T.String({ pattern: "^resp_[0-9a-f]{32}$" }),
  object: T.Literal("response"),
  created_at: f.UnixTime,
  completed_at: f.orNull(f.UnixTime),
  status: f.oneOf(responseStatuses, {
    description: "`queued` and `cancelled` are for responses in the background.",
  }),
  error: f.orNull(T.Object({ code: T.String(), message: T.String() }), {
    description: "Why the status is `failed`.",
  }),
  incomplete_details: f.orNull(
    T.Object({ reason: f.oneOf(["max_output_tokens", "content_filter"]) }),
    {
      description: "Why the status is `incomplete`.",
    },
  ),
  model: T.String(),
  instructions: f.orNull(T.String()),
  output: T.Array(OutputItem),
  usage: f.orNull(ResponseUsage),
  previous_response_id: f.orNull(T.String()),
  conversation: f.nullable(
    T.Object({ id: T.String() }),
    "The conversation it belongs to, if any; null if it could not be added to it.",
  ),
  background: T.Boolean(),
  store: T.Boolean({ description: "Whether the response can be read later." }),
  metadata: Metadata,
  max_output_tokens: f.orNull(T.Integer()),
  max_tool_calls: f.orNull(T.Integer()),
  temperature: f.orNull(T.Number({ description: "As requested; null: the model's own." })),
  top_p: f.orNull(T.Number({ description: "As requested; null: the model's own." })),
  top_logprobs: T.Integer(),
  parallel_tool_calls: T.Boolean(),
  tool_choice: ToolChoice,
  tools: T.Array(ResponseTool),
  text: T.Object({ format: TextFormat }),
  reasoning: T.Object({ effort: T.Null(), summary: T.Null() }),
  truncation: f.oneOf(["auto", "disabled"]),
  truncated_messages: f.optional(
    f.integer(1),
    "How many of the oldest messages `truncation: auto` left out. An extension.",
  ),
  service_tier: T.Literal("default"),
  system_fingerprint: f.optional(
    T.String(),
    "Changes only when the weights, the engine's build or the model's settings do. An extension.",
  ),
  retrieval: T.Optional(RetrievalReport),
});

export type ResponseObject = Static<typeof ResponseObject>;

const at = f.count();

/** The schema of event types with the same fields. */
const events = <Name extends string, Fields extends TProperties>(
  types: readonly Name[],
  fields: Fields,
) => T.Object({ type: f.oneOf(types), sequence_number: at, ...fields });

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
    code: f.orNull(T.String()),
    message: T.String(),
    param: f.orNull(T.String()),
  }),
]);

export type ResponseStreamEvent = Static<typeof ResponseStreamEvent>;
