/** Schemas of chat completions. */
import { type Static, Type as T } from "@sinclair/typebox";
import { headFields, Logprobs, streamFields, Usage } from "../../wire/completion.ts";
import * as f from "../../wire/fields.ts";
import {
  acceptedFields,
  formatFields,
  generationFields,
  noEffort,
  parallelCalls,
  samplingFields,
} from "../../wire/generation-fields.ts";
import { RetrievalReport, ragField } from "../../wire/grounding.ts";
import { FunctionTool, Messages } from "../../wire/message-schema.ts";

const ToolChoice = T.Union(
  [
    T.Literal("none"),
    T.Literal("auto"),
    T.Literal("required"),
    f.openObject({
      type: T.Literal("function"),
      function: f.openObject(
        { name: T.String({ description: "The answer is a call of this function." }) },
        { description: "The function that is called." },
      ),
    }),
  ],
  { "x-expected": "'none', 'auto', 'required' or {type: 'function', function: {name}}" },
);

const ResponseFormat = T.Union(
  [
    f.openObject({ type: T.Literal("text") }),
    f.openObject({
      type: T.Literal("json_object"),
      schema: f.nullable(
        f.JsonSchema,
        "JSON Schema of the answer, as in llama-server. An extension.",
      ),
    }),
    f.openObject({
      type: T.Literal("json_schema"),
      json_schema: f.openObject(formatFields, { description: "The answer follows its `schema`." }),
    }),
  ],
  { "x-expected": "{type: 'text'}, {type: 'json_object'} or {type: 'json_schema', json_schema}" },
);

const FunctionChoice = T.Union(
  [
    T.Literal("none"),
    T.Literal("auto"),
    f.openObject({ name: T.String({ description: "The function." }) }),
  ],
  { "x-expected": "'none', 'auto' or {name}" },
);

const textOnly = "cannot be honoured: this node's models write text only";

export const ChatCompletionRequest = f.openObject({
  messages: Messages,
  model: f.modelName("a chat model"),
  ...samplingFields,
  max_tokens: f.nullable(f.integer(1), "Older name of `max_completion_tokens`, which replaces it."),
  max_completion_tokens: f.nullable(
    f.integer(1),
    "Most tokens of the answer; it then ends with the reason `length`.",
  ),
  ...generationFields,
  n: f.nullable(f.integer(1, 8), "How many answers to generate, each with the next seed.", 1),
  logprobs: f.flag("Report the log probability of each token of the answer's text.", false),
  top_logprobs: f.nullable(
    f.integer(0, 20),
    "How many of the likeliest tokens to report for each token; needs `logprobs`.",
  ),
  response_format: f.nullable(
    ResponseFormat,
    "The answer's format, enforced by a grammar: the answer is valid, unless it ends with `length`.",
    { type: "text" },
  ),
  tools: f.nullable(
    T.Array(FunctionTool, { maxItems: 128 }),
    "Functions that the model may call. The arguments always follow `parameters`.",
  ),
  tool_choice: f.nullable(
    ToolChoice,
    "Whether tools are called. Default: `auto` with tools, `none` without. Instead of `allowed_tools`, send only those as `tools`.",
  ),
  parallel_tool_calls: f.flag(parallelCalls, true),
  functions: f.nullable(
    T.Array(FunctionTool.properties.function, { minItems: 1, maxItems: 128 }),
    "Older form of `tools`; the answer uses the older form too.",
  ),
  function_call: f.nullable(FunctionChoice, "Older form of `tool_choice`."),
  rag: ragField,
  ...streamFields,
  ...acceptedFields,
  metadata: f.accepted("The node does not store chat completions."),
  store: f.accepted("The node does not store chat completions."),
  prediction: f.accepted("It changes the speed, never the answer."),
  reasoning_effort: f.ignored(noEffort),
  verbosity: f.ignored("Ask for a short answer in the messages."),
  modalities: f.rejected(textOnly, {
    unless: (value) => Array.isArray(value) && value.every((modality) => modality === "text"),
    except: '`["text"]`',
  }),
  audio: f.rejected(textOnly),
  web_search_options: f.rejected("cannot be honoured: this node does not search the web"),
  moderation: f.rejected("cannot be honoured: this node has no moderation"),
});

export type ChatCompletionRequest = Static<typeof ChatCompletionRequest>;

const ChoiceLogprobs = f.orNull(T.Object({ content: Logprobs, refusal: T.Null() }));

const FinishReason = f.oneOf(["stop", "length", "tool_calls", "function_call", "content_filter"], {
  description: "`function_call`: with `functions`. `content_filter`: from an upstream server.",
});

const ToolCall = T.Object({
  id: T.String(),
  type: T.Literal("function"),
  function: T.Object({ name: T.String(), arguments: T.String({ description: "JSON." }) }),
});

const head = { id: T.String({ pattern: "^chatcmpl-[0-9a-f-]{36}$" }), ...headFields };

export const ChatCompletion = T.Object({
  ...head,
  object: T.Literal("chat.completion"),
  choices: T.Array(
    T.Object({
      index: f.count(),
      message: T.Object({
        role: T.Literal("assistant"),
        content: f.orNull(T.String()),
        refusal: T.Null(),
        reasoning_content: f.optional(T.String(), "The thoughts of a reasoning model."),
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

const CallDelta = T.Partial(ToolCall.properties.function);

export const ChatCompletionChunk = T.Object({
  ...head,
  object: T.Literal("chat.completion.chunk"),
  choices: T.Array(
    T.Object({
      index: f.count(),
      delta: T.Object({
        role: T.Optional(T.Literal("assistant")),
        content: T.Optional(T.String()),
        reasoning_content: T.Optional(T.String()),
        tool_calls: T.Optional(
          T.Array(
            T.Object({
              index: f.count(),
              id: T.Optional(T.String()),
              type: T.Optional(T.Literal("function")),
              function: CallDelta,
            }),
          ),
        ),
        function_call: T.Optional(CallDelta),
      }),
      logprobs: ChoiceLogprobs,
      finish_reason: f.orNull(FinishReason),
    }),
  ),
  usage: f.nullable(Usage),
  retrieval: T.Optional(RetrievalReport),
});

export type ChatCompletionChunk = Static<typeof ChatCompletionChunk>;
