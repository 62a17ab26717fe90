/** Schemas of requests of the Responses API. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Metadata } from "../../wire/attributes.ts";
import {
  accepted,
  acceptedAs,
  flag,
  ignored,
  integer,
  modelName,
  nonEmpty,
  nullable,
  oneOf,
  openObject,
  optional,
  readAs,
  rejected,
} from "../../wire/fields.ts";
import {
  acceptedFields,
  generationExtensions,
  noEffort,
  parallelCalls,
  samplingFields,
} from "../../wire/generation-fields.ts";
import { ragField } from "../../wire/grounding.ts";
import { includeList, TextFormat } from "./schema.ts";
import { ResponseTool, ToolChoice } from "./tools.ts";

const ofOutput = accepted("Sent back from earlier output.");

const partText = { text: optional(T.String(), "The text.") };
const partRefusal = { refusal: optional(T.String(), "A refusal of another model; read as text.") };

/** A content part of any type; types other than text are rejected when it is read. */
export const Part = readAs(
  openObject({
    type: T.String({ description: "`input_text`, `output_text` or `refusal`." }),
    ...partText,
    ...partRefusal,
  }),
  [
    openObject({
      type: T.Literal("input_text"),
      ...partText,
      prompt_cache_breakpoint: acceptedFields.prompt_cache_key,
      detail: ignored("It is about images."),
    }),
    openObject({
      type: T.Literal("output_text"),
      ...partText,
      annotations: ofOutput,
      logprobs: ofOutput,
    }),
    openObject({ type: T.Literal("text"), ...partText }),
    openObject({ type: T.Literal("refusal"), ...partRefusal }),
  ],
);

export type Part = Static<typeof Part>;

const role = optional(
  oneOf(["user", "assistant", "system", "developer"]),
  "Of a message. `developer` counts as `system`.",
);
const content = optional(
  T.Union([T.String(), T.Array(Part), T.Null()], {
    "x-expected": "a string or a list of content parts",
  }),
  "Of a message: text, or a list of text parts that are joined. Images, audio and files are rejected; upload a file to a vector store and send the tool `file_search`.",
);
const callFields = {
  call_id: nullable(nonEmpty, "Of a function's call and its output."),
  name: optional(T.Unknown(), "Of a function's call: the function's name."),
  namespace: nullable(T.String(), "Of a function's call: the function's namespace."),
  arguments: optional(T.Unknown(), "Of a function's call: JSON, as a text."),
};
const outputText = "Of a function's output: text, or a list of text parts that are joined.";

const known = { id: accepted("It is listed with the item."), status: ofOutput };
const caller = ignored("Only the model calls functions.");

const itemTypes = [
  openObject({
    // An id alone is a reference too.
    type: T.Optional(T.Literal("item_reference")),
    id: T.String({ description: "The item of a stored response to insert." }),
    role: T.Optional(T.Never()),
  }),
  openObject({
    type: T.Optional(T.Literal("message")),
    role,
    content,
    ...known,
    phase: ofOutput,
    name: ignored("Models are not told the writer's name."),
  }),
  openObject({
    type: T.Literal("function_call"),
    ...callFields,
    ...known,
    caller,
    async: ignored("Calls are answered in the next turn."),
  }),
  openObject({
    type: T.Literal("function_call_output"),
    call_id: callFields.call_id,
    output: optional(T.Union([T.String(), T.Array(Part)]), outputText),
    ...known,
    name: accepted("The call has it."),
    namespace: accepted("The call has it."),
    caller,
  }),
  openObject({
    type: acceptedAs(T.Literal("reasoning"), "Models are not shown their earlier thoughts."),
    ...known,
    summary: ofOutput,
    content: ofOutput,
    encrypted_content: ofOutput,
  }),
  openObject({
    type: acceptedAs(T.Literal("file_search_call"), "The node remembers what a turn found."),
    ...known,
    queries: ofOutput,
    results: ofOutput,
  }),
];

/** An item of any type. Required fields depend on the type, and are checked when it is read. */
export const InputItem = readAs(
  openObject({
    type: nullable(
      T.String(),
      "`message`, the default, `function_call`, `function_call_output`, `reasoning`, `file_search_call` or `item_reference`.",
    ),
    role,
    content,
    id: nullable(T.String(), "Of an `item_reference`: the item; otherwise without effect."),
    ...callFields,
    output: optional(T.Unknown(), outputText),
  }),
  itemTypes,
);

export type InputItem = Static<typeof InputItem>;

const wholeThoughts = ignored("Thoughts are sent in full, as `reasoning_text`.");
const noDifference = accepted("The answer does not depend on it.");
const useMaxOutput = rejected("is a field of chat; send 'max_output_tokens'");

export const ResponseRequest = openObject({
  model: modelName("a chat model"),
  input: optional(
    T.Union([T.String(), T.Array(InputItem)], { "x-expected": "a text or a list of items" }),
    "Required: a text, which counts as a message of the user, or the items of a conversation. At most `limits.max_messages`, by default 2048.",
  ),
  instructions: nullable(
    T.String(),
    "What the model is told before the conversation. Later responses do not inherit it.",
  ),
  previous_response_id: nullable(
    nonEmpty,
    "The response to continue. It must be stored, and made with the same key.",
  ),
  conversation: nullable(
    T.Union([nonEmpty, openObject({ id: { ...nonEmpty, description: "Its id." } })], {
      "x-expected": "a conversation's id or {id}",
    }),
    "The conversation to continue; input and output are added to it. Not with `previous_response_id`.",
  ),
  store: flag(
    "Whether to store the response, so that it can be read and continued. The answer's `store` is false if the node stores none (`responses.keep_for = 0`) or it is too large.",
    true,
  ),
  background: flag(
    "Answer at once with the status `queued`, and make the response in the background; poll `GET /v1/responses/{id}`. Not with `stream` or `store: false`.",
    false,
  ),
  metadata: nullable(Metadata, "Returned as it is."),
  max_output_tokens: nullable(
    integer(1),
    "Most tokens of the answer, with thoughts; the status is then `incomplete`.",
  ),
  max_tool_calls: nullable(integer(1), "Most searches; a response never has more than one."),
  ...samplingFields,
  ...generationExtensions,
  top_logprobs: nullable(
    integer(0, 20),
    "How many of the likeliest tokens to report for each token; needs `message.output_text.logprobs` in `include`.",
    0,
  ),
  include: nullable(
    includeList(),
    "What else to return: log probabilities of the tokens, passages of a search.",
  ),
  text: nullable(
    openObject({
      format: nullable(TextFormat, "The text's format.", { type: "text" }),
      verbosity: ignored("Ask for a short answer in the instructions."),
    }),
    "The text's format.",
  ),
  tools: nullable(T.Array(ResponseTool, { maxItems: 128 }), "What the model may call."),
  tool_choice: nullable(ToolChoice, "Whether tools are called. Default: `auto`."),
  parallel_tool_calls: flag(parallelCalls, true),
  truncation: nullable(
    oneOf(["auto", "disabled"]),
    "`auto`: leaves out the oldest messages of a conversation that is longer than the context; `truncated_messages` says how many. `disabled`: rejects it with `context_length_exceeded`.",
    "disabled",
  ),
  rag: ragField,
  stream: flag("Send the answer in events as it is generated.", false),
  stream_options: nullable(
    openObject({ include_obfuscation: accepted("Events have no padding.") }),
    "Options of a stream.",
  ),
  reasoning: nullable(
    openObject({
      effort: ignored(noEffort),
      summary: wholeThoughts,
      generate_summary: wholeThoughts,
      context: ignored("Models are not shown their earlier thoughts."),
      mode: ignored("There is one."),
    }),
    noEffort,
  ),
  ...acceptedFields,
  access_programs: noDifference,
  client_metadata: noDifference,
  image: accepted("There are no images."),
  prompt: rejected(
    "cannot be honoured: this node stores no prompts; send 'instructions' and 'input'",
  ),
  context_management: rejected(
    "cannot be honoured: this node does not compact conversations; send 'truncation': 'auto'",
  ),
  moderation: rejected("cannot be honoured: this node has no moderation"),
  n: rejected("is a field of chat; a response has one answer"),
  messages: rejected("is a field of chat; send 'input'"),
  max_tokens: useMaxOutput,
  max_completion_tokens: useMaxOutput,
  response_format: rejected("is a field of chat; send 'text.format'"),
});

export type ResponseRequest = Static<typeof ResponseRequest>;

export type Input = NonNullable<ResponseRequest["input"]>;
