/** Schemas of requests of the Responses API. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Metadata } from "../../wire/attributes.ts";
import * as f from "../../wire/fields.ts";
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

const ofOutput = f.accepted("Sent back from earlier output.");

const partText = { text: f.optional(T.String(), "The text.") };
const partRefusal = {
  refusal: f.optional(T.String(), "A refusal of another model; read as text."),
};

const partImage = {
  image_url: f.nullable(T.String(), f.imageAddress),
  file_id: f.nullable(
    T.String(),
    "Instead of `image_url`: an uploaded file with such an image. The key needs the scope `documents`.",
  ),
  detail: f.nullable(T.String(), "Of an image: passed on to the model's server."),
};

/** A content part of any type; types other than text and images are rejected when it is read. */
export const Part = f.readAs(
  f.openObject({
    type: T.String({ description: "`input_text`, `input_image`, `output_text` or `refusal`." }),
    ...partText,
    ...partRefusal,
    ...partImage,
  }),
  [
    f.openObject({
      type: T.Literal("input_text"),
      ...partText,
      prompt_cache_breakpoint: acceptedFields.prompt_cache_key,
      detail: f.ignored("It is about images."),
    }),
    f.openObject({
      type: T.Literal("output_text"),
      ...partText,
      annotations: ofOutput,
      logprobs: ofOutput,
    }),
    f.openObject({ type: T.Literal("text"), ...partText }),
    f.openObject({ type: T.Literal("refusal"), ...partRefusal }),
    f.openObject({ type: T.Literal("input_image"), ...partImage }),
  ],
);

export type Part = Static<typeof Part>;

const role = f.optional(
  f.oneOf(["user", "assistant", "system", "developer"]),
  "Of a message. `developer` counts as `system`.",
);
const content = f.optional(
  T.Union([T.String(), T.Array(Part), T.Null()], {
    "x-expected": "a string or a list of content parts",
  }),
  "Of a message: text, or a list of parts: texts are joined, and images keep their places. Images are for messages of the user and outputs of functions, and for models that read them. Audio and files are rejected; upload a file to a vector store and send the tool `file_search`.",
);
const callFields = {
  call_id: f.nullable(f.nonEmpty, "Of a function's call and its output."),
  name: f.optional(T.Unknown(), "Of a function's call: the function's name."),
  namespace: f.nullable(T.String(), "Of a function's call: the function's namespace."),
  arguments: f.optional(T.Unknown(), "Of a function's call: JSON, as a text."),
};
const outputText = "Of a function's output: text, or a list of parts, as in a message.";

const known = { id: f.accepted("It is listed with the item."), status: ofOutput };
const caller = f.ignored("Only the model calls functions.");

const itemTypes = [
  f.openObject({
    // An id alone is a reference too.
    type: T.Optional(T.Literal("item_reference")),
    id: T.String({ description: "The item of a stored response to insert." }),
    role: T.Optional(T.Never()),
  }),
  f.openObject({
    type: T.Optional(T.Literal("message")),
    role,
    content,
    ...known,
    phase: ofOutput,
    name: f.ignored("Models are not told the writer's name."),
  }),
  f.openObject({
    type: T.Literal("function_call"),
    ...callFields,
    ...known,
    caller,
    async: f.ignored("Calls are answered in the next turn."),
  }),
  f.openObject({
    type: T.Literal("function_call_output"),
    call_id: callFields.call_id,
    output: f.optional(T.Union([T.String(), T.Array(Part)]), outputText),
    ...known,
    name: f.accepted("The call has it."),
    namespace: f.accepted("The call has it."),
    caller,
  }),
  f.openObject({
    type: f.acceptedAs(T.Literal("reasoning"), "Models are not shown their earlier thoughts."),
    ...known,
    summary: ofOutput,
    content: ofOutput,
    encrypted_content: ofOutput,
  }),
  f.openObject({
    type: f.acceptedAs(T.Literal("file_search_call"), "The node remembers what a turn found."),
    ...known,
    queries: ofOutput,
    results: ofOutput,
  }),
];

/** An item of any type. Required fields depend on the type, and are checked when it is read. */
export const InputItem = f.readAs(
  f.openObject({
    type: f.nullable(
      T.String(),
      "`message`, the default, `function_call`, `function_call_output`, `reasoning`, `file_search_call` or `item_reference`.",
    ),
    role,
    content,
    id: f.nullable(T.String(), "Of an `item_reference`: the item; otherwise without effect."),
    ...callFields,
    output: f.optional(T.Unknown(), outputText),
  }),
  itemTypes,
);

export type InputItem = Static<typeof InputItem>;

const wholeThoughts = f.ignored("Thoughts are sent in full, as `reasoning_text`.");
const noDifference = f.accepted("The answer does not depend on it.");
const useMaxOutput = f.rejected("is a field of chat; send 'max_output_tokens'");

export const ResponseRequest = f.openObject({
  model: f.modelName("a chat model"),
  input: f.optional(
    T.Union([T.String(), T.Array(InputItem)], { "x-expected": "a text or a list of items" }),
    "Required: a text, which counts as a message of the user, or the items of a conversation. At most `limits.max_messages`, by default 2048.",
  ),
  instructions: f.nullable(
    T.String(),
    "What the model is told before the conversation. Later responses do not inherit it.",
  ),
  previous_response_id: f.nullable(
    f.nonEmpty,
    "The response to continue. It must be stored, and made with the same key.",
  ),
  conversation: f.nullable(
    T.Union([f.nonEmpty, f.openObject({ id: { ...f.nonEmpty, description: "Its id." } })], {
      "x-expected": "a conversation's id or {id}",
    }),
    "The conversation to continue; input and output are added to it. Not with `previous_response_id`.",
  ),
  store: f.flag(
    "Whether to store the response, so that it can be read and continued. The answer's `store` is false if the node stores none (`responses.keep_for = 0`) or it is too large.",
    true,
  ),
  background: f.flag(
    "Answer at once with the status `queued`, and make the response in the background; poll `GET /v1/responses/{id}`. Not with `stream` or `store: false`.",
    false,
  ),
  metadata: f.nullable(Metadata, "Returned as it is."),
  max_output_tokens: f.nullable(
    f.integer(1),
    "Most tokens of the answer, with thoughts; the status is then `incomplete`.",
  ),
  max_tool_calls: f.nullable(f.integer(1), "Most searches; a response never has more than one."),
  ...samplingFields,
  ...generationExtensions,
  top_logprobs: f.nullable(
    f.integer(0, 20),
    "How many of the likeliest tokens to report for each token; needs `message.output_text.logprobs` in `include`.",
    0,
  ),
  include: f.nullable(
    includeList(),
    "What else to return: log probabilities of the tokens, passages of a search.",
  ),
  text: f.nullable(
    f.openObject({
      format: f.nullable(TextFormat, "The text's format.", { type: "text" }),
      verbosity: f.ignored("Ask for a short answer in the instructions."),
    }),
    "The text's format.",
  ),
  tools: f.nullable(T.Array(ResponseTool, { maxItems: 128 }), "What the model may call."),
  tool_choice: f.nullable(ToolChoice, "Whether tools are called. Default: `auto`."),
  parallel_tool_calls: f.flag(parallelCalls, true),
  truncation: f.nullable(
    f.oneOf(["auto", "disabled"]),
    "`auto`: leaves out the oldest messages of a conversation that is longer than the context; `truncated_messages` says how many. `disabled`: rejects it with `context_length_exceeded`.",
    "disabled",
  ),
  rag: ragField,
  stream: f.flag("Send the answer in events as it is generated.", false),
  stream_options: f.nullable(
    f.openObject({ include_obfuscation: f.accepted("Events have no padding.") }),
    "Options of a stream.",
  ),
  reasoning: f.nullable(
    f.openObject({
      effort: f.ignored(noEffort),
      summary: wholeThoughts,
      generate_summary: wholeThoughts,
      context: f.ignored("Models are not shown their earlier thoughts."),
      mode: f.ignored("There is one."),
    }),
    noEffort,
  ),
  ...acceptedFields,
  access_programs: noDifference,
  client_metadata: noDifference,
  image: f.accepted("The answer has no images."),
  prompt: f.rejected(
    "cannot be honoured: this node stores no prompts; send 'instructions' and 'input'",
  ),
  context_management: f.rejected(
    "cannot be honoured: this node does not compact conversations; send 'truncation': 'auto'",
  ),
  moderation: f.rejected("cannot be honoured: this node has no moderation"),
  n: f.rejected("is a field of chat; a response has one answer"),
  messages: f.rejected("is a field of chat; send 'input'"),
  max_tokens: useMaxOutput,
  max_completion_tokens: useMaxOutput,
  response_format: f.rejected("is a field of chat; send 'text.format'"),
});

export type ResponseRequest = Static<typeof ResponseRequest>;

export type Input = NonNullable<ResponseRequest["input"]>;
