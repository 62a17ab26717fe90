/** Schemas of requests of the Responses API. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Metadata } from "../../wire/attributes.ts";
import {
  accepted,
  acceptedAs,
  ignored,
  nullable,
  oneOf,
  openObject,
  optional,
  readAs,
  rejected,
} from "../../wire/fields.ts";
import { generationExtensions, samplingFields } from "../../wire/generation-fields.ts";
import { ragField } from "../../wire/grounding.ts";
import { includeList, ResponseTool, TextFormat, ToolChoice } from "./tool-schema.ts";

const ofEarlierOutput = "Clients send it back of earlier output.";
const cachesItself = "The node finds what it has evaluated before by itself.";

const partText = { text: optional(T.String(), "The text.") };
const partRefusal = {
  refusal: optional(T.String(), "Of another model's output; it counts as text."),
};

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
      prompt_cache_breakpoint: accepted(cachesItself),
      detail: ignored("It is about images."),
    }),
    openObject({
      type: T.Literal("output_text"),
      ...partText,
      annotations: accepted(ofEarlierOutput),
      logprobs: accepted(ofEarlierOutput),
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
  call_id: nullable(T.String({ minLength: 1 }), "Of a function's call and its output."),
  name: optional(T.Unknown(), "Of a function's call: the function's name."),
  namespace: nullable(T.String(), "Of a function's call: the namespace that it was offered in."),
  arguments: optional(T.Unknown(), "Of a function's call: JSON, as a text."),
};
const outputText = "Of a function's output: text, or a list of text parts that are joined.";

const known = { id: accepted("It is listed with the item."), status: accepted(ofEarlierOutput) };
const caller = ignored("Only the model calls functions.");

/** The supported item types. */
const itemTypes = [
  openObject({
    // An id alone is a reference too.
    type: T.Optional(T.Literal("item_reference")),
    id: T.String({ description: "The item of a stored response that takes its place." }),
    role: T.Optional(T.Never()),
  }),
  openObject({
    type: T.Optional(T.Literal("message")),
    role,
    content,
    ...known,
    phase: accepted(ofEarlierOutput),
    name: ignored("The models' templates have no place for the writer's name."),
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
    name: accepted("The call says it."),
    namespace: accepted("The call says it."),
    caller,
  }),
  openObject({
    type: acceptedAs(T.Literal("reasoning"), "Models are not shown their earlier thoughts."),
    ...known,
    summary: accepted(ofEarlierOutput),
    content: accepted(ofEarlierOutput),
    encrypted_content: accepted(ofEarlierOutput),
  }),
  openObject({
    type: acceptedAs(
      T.Literal("file_search_call"),
      "What a search found is remembered with its turn.",
    ),
    ...known,
    queries: accepted(ofEarlierOutput),
    results: accepted(ofEarlierOutput),
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
    id: nullable(T.String(), "What an `item_reference` refers to; else it is not looked at."),
    ...callFields,
    output: optional(T.Unknown(), outputText),
  }),
  itemTypes,
);

export type InputItem = Static<typeof InputItem>;

const thinksAsLong = "A model thinks as long as it does.";

export const ResponseRequest = openObject({
  model: T.String({ minLength: 1, description: "Name of a chat model of this node." }),
  input: optional(
    T.Union([T.String(), T.Array(InputItem)], { "x-expected": "a text or a list of items" }),
    "What is asked, and required: a text, which counts as a message of the user, or the items of a conversation. No more of them than the node takes: 2048 unless configured.",
  ),
  instructions: nullable(
    T.String(),
    "What the model is told before the conversation. Those of earlier responses are not carried over.",
  ),
  previous_response_id: nullable(
    T.String({ minLength: 1 }),
    "The response whose conversation this one continues. It must be stored, and made with the same key.",
  ),
  conversation: nullable(
    T.Union(
      [
        T.String({ minLength: 1 }),
        openObject({ id: T.String({ minLength: 1, description: "Its id." }) }),
      ],
      {
        "x-expected": "a conversation's id or {id}",
      },
    ),
    "The conversation that this response continues, and that its input and output are added to. Not beside `previous_response_id`.",
  ),
  store: nullable(
    T.Boolean(),
    "Whether the response is stored, so that it can be read and continued. The answer says whether it is: not where the node stores none (`responses.keep_for = 0`), and not where it is too large.",
    true,
  ),
  background: nullable(
    T.Boolean(),
    "Answer at once with the status `queued`, and make the response in the background; `GET /v1/responses/{id}` has it. Not with `stream`, nor with `store` false.",
    false,
  ),
  metadata: nullable(Metadata, "Given back as it is."),
  max_output_tokens: nullable(
    T.Integer({ minimum: 1 }),
    "Most tokens of the answer, thoughts included; the status is `incomplete` then.",
  ),
  max_tool_calls: nullable(
    T.Integer({ minimum: 1 }),
    "Most searches of one response; it never has more than one.",
  ),
  ...samplingFields,
  ...generationExtensions,
  top_logprobs: nullable(
    T.Integer({ minimum: 0, maximum: 20 }),
    "How many of the likeliest tokens to report in each place; needs `message.output_text.logprobs` in `include`.",
    0,
  ),
  include: nullable(
    includeList(),
    "What else the response is to hold: the log probabilities of its tokens, the passages of a search.",
  ),
  text: nullable(
    openObject({
      format: nullable(TextFormat, "The text's form.", { type: "text" }),
      verbosity: ignored("Ask for a short answer in the instructions."),
    }),
    "The text's form.",
  ),
  tools: nullable(T.Array(ResponseTool, { maxItems: 128 }), "What the model may call."),
  tool_choice: nullable(ToolChoice, "Whether tools are called. Default: `auto`."),
  parallel_tool_calls: nullable(
    T.Boolean(),
    "Whether one answer may call several functions, where the model's template can.",
    true,
  ),
  truncation: nullable(
    oneOf(["auto", "disabled"]),
    "`auto`: the oldest messages are left out of a conversation that does not fit the model's context, and `truncated_messages` says how many. `disabled`: it is rejected with `context_length_exceeded`.",
    "disabled",
  ),
  rag: ragField,
  stream: nullable(T.Boolean(), "Send the answer in events as it is generated.", false),
  stream_options: nullable(
    openObject({ include_obfuscation: accepted("Events carry no padding.") }),
    "Options of a stream.",
  ),
  reasoning: nullable(
    openObject({
      effort: ignored(thinksAsLong),
      summary: ignored("Thoughts are given whole, as `reasoning_text`."),
      generate_summary: ignored("Thoughts are given whole, as `reasoning_text`."),
      context: ignored("Models are not shown their earlier thoughts."),
      mode: ignored("There is one."),
    }),
    thinksAsLong,
  ),
  user: accepted("The answer does not depend on the caller."),
  safety_identifier: accepted("The answer does not depend on the caller."),
  service_tier: accepted("There is one tier."),
  prompt_cache_key: accepted(cachesItself),
  prompt_cache_options: accepted(cachesItself),
  prompt_cache_retention: accepted(cachesItself),
  access_programs: accepted("The answer does not depend on it."),
  client_metadata: accepted("The answer does not depend on it."),
  image: accepted("There are no images."),
  prompt: rejected("is not done: this node stores no prompts; send 'instructions' and 'input'"),
  context_management: rejected(
    "cannot be honoured: this node does not compact conversations; send 'truncation': 'auto'",
  ),
  moderation: rejected("cannot be honoured: this node has no moderation"),
  n: rejected("is a field of chat; a response has one answer"),
  messages: rejected("is a field of chat; send 'input'"),
  max_tokens: rejected("is a field of chat; send 'max_output_tokens'"),
  max_completion_tokens: rejected("is a field of chat; send 'max_output_tokens'"),
  response_format: rejected("is a field of chat; send 'text.format'"),
});

export type ResponseRequest = Static<typeof ResponseRequest>;

/** The input of a request that has one. */
export type Input = NonNullable<ResponseRequest["input"]>;
