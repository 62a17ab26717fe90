/** Schemas of chat completions. */
import { type Static, Type as T } from "@sinclair/typebox";
import { headFields, Logprobs, streamOptions, Usage } from "../../wire/completion.ts";
import {
  accepted,
  count,
  ignored,
  nullable,
  oneOf,
  openObject,
  optional,
  orNull,
  rejected,
} from "../../wire/fields.ts";
import { generationFields, samplingFields } from "../../wire/generation-fields.ts";
import { RetrievalReport, ragField } from "../../wire/grounding.ts";
import { FunctionTool, Messages } from "../../wire/messages.ts";

const ToolChoice = T.Union(
  [
    T.Literal("none"),
    T.Literal("auto"),
    T.Literal("required"),
    openObject({
      type: T.Literal("function"),
      function: openObject(
        { name: T.String({ description: "The answer is a call of this function." }) },
        { description: "The function that is called." },
      ),
    }),
  ],
  {
    "x-expected": "'none', 'auto', 'required' or {type: 'function', function: {name}}",
  },
);

const ResponseFormat = T.Union(
  [
    openObject({ type: T.Literal("text") }),
    openObject({
      type: T.Literal("json_object"),
      schema: nullable(
        T.Record(T.String(), T.Unknown()),
        "JSON Schema of the answer, as llama-server and others take it here. An extension.",
      ),
    }),
    openObject({
      type: T.Literal("json_schema"),
      json_schema: openObject(
        {
          name: optional(T.String(), "What the format is called."),
          description: nullable(T.String(), "What the format is for."),
          schema: T.Unknown({ description: "JSON Schema of the answer." }),
          strict: nullable(T.Boolean(), "The answer is always held to the schema."),
        },
        { description: "A grammar holds the answer to its `schema`." },
      ),
    }),
  ],
  {
    "x-expected": "{type: 'text'}, {type: 'json_object'} or {type: 'json_schema', json_schema}",
  },
);

const cachesItself = "The node finds what it has evaluated before by itself.";

export const ChatCompletionRequest = openObject({
  messages: Messages,
  model: T.String({ minLength: 1, description: "Name of a chat model of this node." }),
  ...samplingFields,
  max_tokens: nullable(
    T.Integer({ minimum: 1 }),
    "The older name of `max_completion_tokens`, which goes before it.",
  ),
  max_completion_tokens: nullable(
    T.Integer({ minimum: 1 }),
    "Most tokens of the answer, which then ends with the reason `length`.",
  ),
  stop: generationFields.stop,
  seed: generationFields.seed,
  n: nullable(
    T.Integer({ minimum: 1, maximum: 8 }),
    "How many answers to generate; each takes the seed after that of the one before.",
    1,
  ),
  logprobs: nullable(
    T.Boolean(),
    "Report the log probability of each token of the answer's text.",
    false,
  ),
  top_logprobs: nullable(
    T.Integer({ minimum: 0, maximum: 20 }),
    "How many of the likeliest tokens to report in each place; needs `logprobs`.",
  ),
  logit_bias: generationFields.logit_bias,
  response_format: nullable(
    ResponseFormat,
    "The answer's form, held by a grammar while it is generated: unless `length` cuts it short, it parses and validates.",
    { type: "text" },
  ),
  tools: nullable(
    T.Array(FunctionTool, { maxItems: 128 }),
    "Functions that the model may call; no other tools. The arguments always fit `parameters`.",
  ),
  tool_choice: nullable(
    ToolChoice,
    "Whether tools are called. Default: `auto` with tools, `none` without. In place of `allowed_tools`, send only those as `tools`.",
  ),
  parallel_tool_calls: nullable(
    T.Boolean(),
    "Whether one answer may call several tools, where the model's template can.",
    true,
  ),
  functions: nullable(
    T.Array(FunctionTool.properties.function, { minItems: 1, maxItems: 128 }),
    "The older form of `tools`; the answer has the older form, too.",
  ),
  function_call: nullable(
    T.Union(
      [
        T.Literal("none"),
        T.Literal("auto"),
        openObject({ name: T.String({ description: "The function." }) }),
      ],
      {
        "x-expected": "'none', 'auto' or {name}",
      },
    ),
    "The older form of `tool_choice`.",
  ),
  rag: ragField,
  stream: nullable(T.Boolean(), "Send the answer in pieces as they are generated.", false),
  stream_options: streamOptions,
  user: accepted("The answer does not depend on the caller."),
  safety_identifier: accepted("The answer does not depend on the caller."),
  metadata: accepted("The node stores no chat completions that it could label."),
  store: accepted("The node stores no chat completions."),
  service_tier: accepted("There is one tier."),
  prediction: accepted("It is about speed, never about the answer."),
  prompt_cache_key: accepted(cachesItself),
  prompt_cache_options: accepted(cachesItself),
  prompt_cache_retention: accepted(cachesItself),
  reasoning_effort: ignored("A model thinks as long as it does."),
  verbosity: ignored("Ask for a short answer in the messages."),
  modalities: rejected("cannot be honoured: this node's models write text only", {
    unless: (value) => Array.isArray(value) && value.every((modality) => modality === "text"),
    except: '`["text"]`',
  }),
  audio: rejected("cannot be honoured: this node's models write text only"),
  web_search_options: rejected("cannot be honoured: this node does not search the web"),
  moderation: rejected("cannot be honoured: this node has no moderation"),
});

export type ChatCompletionRequest = Static<typeof ChatCompletionRequest>;

const ChoiceLogprobs = orNull(T.Object({ content: Logprobs, refusal: T.Null() }));

const FinishReason = oneOf(["stop", "length", "tool_calls", "function_call", "content_filter"], {
  description:
    "`function_call` is for requests with `functions`; `content_filter` comes from the remote server of an upstream model.",
});

const ToolCall = T.Object({
  id: T.String(),
  type: T.Literal("function"),
  function: T.Object({ name: T.String(), arguments: T.String({ description: "JSON." }) }),
});

const head = {
  id: T.String({ pattern: "^chatcmpl-[0-9a-f-]{36}$" }),
  ...headFields,
};

export const ChatCompletion = T.Object({
  ...head,
  object: T.Literal("chat.completion"),
  choices: T.Array(
    T.Object({
      index: count(),
      message: T.Object({
        role: T.Literal("assistant"),
        content: orNull(T.String()),
        refusal: T.Null(),
        reasoning_content: optional(
          T.String(),
          "A reasoning model's thoughts, which are not its answer.",
        ),
        tool_calls: T.Optional(T.Array(ToolCall)),
        function_call: T.Optional(ToolCall.properties.function),
      }),
      logprobs: ChoiceLogprobs,
      finish_reason: FinishReason,
    }),
  ),
  usage: Usage,
  retrieval: T.Optional(RetrievalReport),
});

export type ChatCompletion = Static<typeof ChatCompletion>;

const CallDelta = T.Object({
  name: T.Optional(T.String()),
  arguments: T.Optional(T.String()),
});

export const ChatCompletionChunk = T.Object({
  ...head,
  object: T.Literal("chat.completion.chunk"),
  choices: T.Array(
    T.Object({
      index: count(),
      delta: T.Object({
        role: T.Optional(T.Literal("assistant")),
        content: T.Optional(T.String()),
        reasoning_content: T.Optional(T.String()),
        tool_calls: T.Optional(
          T.Array(
            T.Object({
              index: count(),
              id: T.Optional(T.String()),
              type: T.Optional(T.Literal("function")),
              function: CallDelta,
            }),
          ),
        ),
        function_call: T.Optional(CallDelta),
      }),
      logprobs: ChoiceLogprobs,
      finish_reason: orNull(FinishReason),
    }),
  ),
  usage: nullable(Usage),
  retrieval: T.Optional(RetrievalReport),
});

export type ChatCompletionChunk = Static<typeof ChatCompletionChunk>;
