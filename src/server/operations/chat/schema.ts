/** Chat completions on the wire. */
import { type Static, Type as T, type TSchema } from "@sinclair/typebox";
import { ragPolicies } from "../../../core/chat/rag-policy.ts";
import { Filter } from "../../wire/filter.ts";
import { Messages } from "../../wire/message-schema.ts";
import { PointMetadata } from "../../wire/point-schema.ts";
import { StoreReferences } from "../../wire/store-references.ts";

const open = { additionalProperties: true } as const;

/** May be null, which means the same as absent. */
const nullable = <Schema extends TSchema>(
  schema: Schema,
  description: string,
  fallback?: unknown,
) =>
  T.Optional(
    T.Union([schema, T.Null()], {
      description,
      ...(fallback === undefined ? {} : { default: fallback }),
    }),
  );

/** A number whose default is the model's. */
const tunable = (minimum: number, maximum: number, fallback: number, description: string) =>
  nullable(
    T.Number({ minimum, maximum }),
    `${description} Where absent or null, the model's configured default, ${fallback} unless set.`,
    fallback,
  );

const FunctionTool = T.Object(
  {
    type: T.Literal("function"),
    function: T.Object(
      {
        name: T.String({
          pattern: "^[A-Za-z0-9_-]{1,64}$",
          "x-expected": "1 to 64 letters, digits, '_' or '-'",
        }),
        description: nullable(T.String(), "What the function does, for the model."),
        parameters: nullable(
          T.Record(T.String(), T.Unknown()),
          "JSON Schema of the arguments, which always validate against it. Absent: none.",
        ),
        strict: nullable(T.Boolean(), "Arguments are always held to the schema."),
      },
      open,
    ),
  },
  open,
);

const ToolChoice = T.Union(
  [
    T.Literal("none"),
    T.Literal("auto"),
    T.Literal("required"),
    T.Object({ type: T.Literal("function"), function: T.Object({ name: T.String() }, open) }, open),
  ],
  {
    "x-expected": "'none', 'auto', 'required' or {type: 'function', function: {name}}",
    description: "Whether tools are called. Default: `auto` with tools, `none` without.",
  },
);

const ResponseFormat = T.Union(
  [
    T.Object({ type: T.Literal("text") }, open),
    T.Object({ type: T.Literal("json_object") }, open),
    T.Object(
      {
        type: T.Literal("json_schema"),
        json_schema: T.Object(
          {
            name: T.Optional(T.String()),
            description: nullable(T.String(), "What the format is for."),
            schema: T.Unknown({ description: "JSON Schema of the answer." }),
            strict: nullable(T.Boolean(), "The answer is always held to the schema."),
          },
          open,
        ),
      },
      open,
    ),
  ],
  {
    "x-expected": "{type: 'text'}, {type: 'json_object'} or {type: 'json_schema', json_schema}",
    description:
      "The answer's form, held by a grammar while it is generated: unless `length` cuts it short, it parses and validates.",
  },
);

export const ChatCompletionRequest = T.Object(
  {
    messages: Messages,
    model: T.String({ minLength: 1, description: "Name of a chat model of this node." }),
    temperature: tunable(0, 2, 1, "Higher is more random; 0 always takes the likeliest token."),
    top_p: tunable(0, 1, 1, "Only the likeliest tokens that make up this probability are drawn."),
    top_k: nullable(
      T.Integer({ minimum: 0 }),
      "Only so many of the likeliest tokens are drawn; 0: all. An extension.",
      0,
    ),
    min_p: nullable(
      T.Number({ minimum: 0, maximum: 1 }),
      "Only tokens at least this likely, against the likeliest, are drawn; 0: all. Default: the model's own, which node information names. An extension.",
    ),
    presence_penalty: tunable(-2, 2, 0, "Positive: tokens that appeared are less likely."),
    frequency_penalty: tunable(-2, 2, 0, "Positive: the more a token appeared, the less likely."),
    repeat_penalty: tunable(
      0.1,
      10,
      1,
      "Divides the logits of tokens that appeared; 1: off. An extension.",
    ),
    max_tokens: nullable(
      T.Integer({ minimum: 1 }),
      "Most tokens of the answer. The older name of max_completion_tokens.",
    ),
    max_completion_tokens: nullable(T.Integer({ minimum: 1 }), "Most tokens of the answer."),
    stop: nullable(
      T.Union([
        T.String({ minLength: 1 }),
        T.Array(T.String({ minLength: 1 }), { minItems: 1, maxItems: 4 }),
      ]),
      "One to four texts that end the answer; they are not part of it.",
    ),
    seed: nullable(
      T.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
      "Same request, seed and system_fingerprint: same answer, while nothing else runs.",
    ),
    n: nullable(T.Integer({ minimum: 1, maximum: 8 }), "How many answers to generate.", 1),
    logprobs: nullable(T.Boolean(), "Report the log probability of each token.", false),
    top_logprobs: nullable(
      T.Integer({ minimum: 0, maximum: 20 }),
      "How many of the likeliest tokens to report in each place; needs logprobs.",
    ),
    logit_bias: nullable(
      T.Record(T.String({ pattern: "^[0-9]+$" }), T.Number({ minimum: -100, maximum: 100 }), {
        additionalProperties: false,
        "x-expected": "an object of token ids, each with a number from -100 to 100",
      }),
      "Added to the logits of tokens, by token id.",
    ),
    response_format: nullable(ResponseFormat, "The answer's form.", { type: "text" }),
    tools: nullable(T.Array(FunctionTool, { maxItems: 128 }), "Functions the model may call."),
    tool_choice: nullable(ToolChoice, "Whether tools are called."),
    parallel_tool_calls: nullable(
      T.Boolean(),
      "Whether one answer may call several tools, where the model's template can.",
      true,
    ),
    rag: nullable(
      T.Union(
        [
          T.Boolean(),
          T.Object(
            {
              policy: T.Optional(T.Union(ragPolicies.map((policy) => T.Literal(policy)))),
              limit: T.Optional(T.Integer({ minimum: 1 })),
              score_threshold: T.Optional(T.Number({ minimum: -1, maximum: 1 })),
              context_window: T.Optional(T.Integer({ minimum: 1, maximum: 100 })),
              vector_store_ids: T.Optional(T.Union([StoreReferences, T.Null()])),
              filters: T.Optional(T.Union([Filter, T.Null()])),
            },
            open,
          ),
        ],
        {
          "x-expected":
            "true, false or {policy, limit, score_threshold, context_window, vector_store_ids, filters}",
        },
      ),
      "Whether the answer is grounded in the node's collection. `true`: as the node does it, or into the last user message where it does not. `limit` and `score_threshold` narrow the node's; a `context_window` above the node's is refused. `vector_store_ids`: ids or names of vector stores, searched as one in the place of the node's collection; `filters`: which of their files count, as a vector store's search has them. An extension.",
    ),
    stream: nullable(T.Boolean(), "Send the answer in pieces as they are generated.", false),
    stream_options: nullable(
      T.Object(
        {
          include_usage: nullable(T.Boolean(), "Send a last chunk with the token counts.", false),
        },
        open,
      ),
      "Options of a stream.",
    ),
  },
  open,
);

export type ChatCompletionRequest = Static<typeof ChatCompletionRequest>;

const count = T.Integer({ minimum: 0 });

const Usage = T.Object({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: T.Object({
    cached_tokens: T.Integer({ minimum: 0, description: "Those that needed no evaluation." }),
  }),
  completion_tokens_details: T.Object({
    reasoning_tokens: T.Integer({ minimum: 0, description: "Those that were thoughts." }),
  }),
});

export type Usage = Static<typeof Usage>;

const Logprob = T.Object({
  token: T.String(),
  logprob: T.Number(),
  bytes: T.Union([T.Array(T.Integer({ minimum: 0, maximum: 255 })), T.Null()]),
});

const Logprobs = T.Union([
  T.Object({
    content: T.Array(T.Intersect([Logprob, T.Object({ top_logprobs: T.Array(Logprob) })])),
    refusal: T.Null(),
  }),
  T.Null(),
]);

const FinishReason = T.Union(
  [T.Literal("stop"), T.Literal("length"), T.Literal("tool_calls"), T.Literal("content_filter")],
  { description: "`content_filter` comes from a server that a model runs on elsewhere." },
);

const Retrieval = T.Object(
  {
    points: T.Array(
      T.Object({
        source: T.String({ description: "The passage's text." }),
        score: T.Number({ description: "Its similarity to the question, -1 to 1." }),
        metadata: PointMetadata,
      }),
      {
        description:
          "The passages in the prompt, in the order of their markers [1], [2], …: those of earlier turns, then this turn's in descending score.",
      },
    ),
    dropped: T.Integer({
      minimum: 0,
      description:
        "Passages that matched and are not in the prompt: another one contains them, or they do not fit the context.",
    }),
    carried: T.Optional(
      T.Integer({
        minimum: 1,
        description: "How many of them, from the first, are of earlier turns.",
      }),
    ),
    error: T.Optional(T.String({ description: "Why retrieval failed, where it did." })),
    notice: T.Optional(
      T.String({
        description:
          "What was done to the question: its end was matched where it is too long, or the user message before was taken along; and that passages are still being stored.",
      }),
    ),
  },
  { description: "What the answer is grounded in; absent where it is not." },
);

const ToolCall = T.Object({
  id: T.String(),
  type: T.Literal("function"),
  function: T.Object({ name: T.String(), arguments: T.String({ description: "JSON." }) }),
});

const head = {
  id: T.String({ pattern: "^chatcmpl-[0-9a-f-]{36}$" }),
  created: T.Integer({ description: "Unix time in seconds." }),
  model: T.String(),
  system_fingerprint: T.String({
    pattern: "^fp_[0-9a-f]+$",
    description: "Changes only when the weights, the engine's build or the model's settings do.",
  }),
};

export const ChatCompletion = T.Object({
  ...head,
  object: T.Literal("chat.completion"),
  choices: T.Array(
    T.Object({
      index: count,
      message: T.Object({
        role: T.Literal("assistant"),
        content: T.Union([T.String(), T.Null()]),
        refusal: T.Null(),
        reasoning_content: T.Optional(
          T.String({ description: "A reasoning model's thoughts, which are not its answer." }),
        ),
        tool_calls: T.Optional(T.Array(ToolCall)),
      }),
      logprobs: Logprobs,
      finish_reason: FinishReason,
    }),
  ),
  usage: Usage,
  retrieval: T.Optional(Retrieval),
});

export type ChatCompletion = Static<typeof ChatCompletion>;

export const ChatCompletionChunk = T.Object({
  ...head,
  object: T.Literal("chat.completion.chunk"),
  choices: T.Array(
    T.Object({
      index: count,
      delta: T.Object({
        role: T.Optional(T.Literal("assistant")),
        content: T.Optional(T.String()),
        reasoning_content: T.Optional(T.String()),
        tool_calls: T.Optional(
          T.Array(
            T.Object({
              index: count,
              id: T.Optional(T.String()),
              type: T.Optional(T.Literal("function")),
              function: T.Object({
                name: T.Optional(T.String()),
                arguments: T.Optional(T.String()),
              }),
            }),
          ),
        ),
      }),
      logprobs: Logprobs,
      finish_reason: T.Union([FinishReason, T.Null()]),
    }),
  ),
  usage: T.Optional(T.Union([Usage, T.Null()])),
  retrieval: T.Optional(Retrieval),
});

export type ChatCompletionChunk = Static<typeof ChatCompletionChunk>;
