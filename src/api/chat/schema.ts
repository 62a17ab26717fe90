/** Chat completions on the wire. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Messages } from "../message-schema.ts";

const count = T.Integer({ minimum: 0 });

const TokenLimit = (description: string) =>
  T.Optional(T.Union([T.Integer({ minimum: 1 }), T.Null()], { description }));

/** A number that may be null, which means the same as absent. */
const Tunable = (minimum: number, maximum: number, fallback: number, description: string) =>
  T.Optional(
    T.Union([T.Number({ minimum, maximum }), T.Null()], {
      description: `${description} Where absent or null, the model's configured default, ${fallback} unless set.`,
    }),
  );

export const ChatCompletionRequest = T.Object(
  {
    messages: Messages,
    model: T.String({ minLength: 1, description: "Name of a chat model of this node." }),
    temperature: Tunable(0, 2, 1, "Higher is more random; 0 always takes the likeliest token."),
    top_p: Tunable(0, 1, 1, "Only the likeliest tokens that make up this probability are drawn."),
    presence_penalty: Tunable(-2, 2, 0, "Positive: tokens that appeared are less likely."),
    frequency_penalty: Tunable(-2, 2, 0, "Positive: the more a token appeared, the less likely."),
    max_tokens: TokenLimit("Most tokens of the answer. The older name of max_completion_tokens."),
    max_completion_tokens: TokenLimit("Most tokens of the answer."),
    stream: T.Optional(
      T.Union([T.Boolean(), T.Null()], {
        default: false,
        description: "Send the answer in pieces as they are generated.",
      }),
    ),
    stream_options: T.Optional(
      T.Union([
        T.Object({
          include_usage: T.Optional(
            T.Boolean({ description: "Send a last chunk with the token counts." }),
          ),
        }),
        T.Null(),
      ]),
    ),
  },
  { additionalProperties: true },
);

export type ChatCompletionRequest = Static<typeof ChatCompletionRequest>;

const Usage = T.Object({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
});

export type Usage = Static<typeof Usage>;

const FinishReason = T.Union([T.Literal("stop"), T.Literal("length")]);
const id = T.String({ pattern: "^chatcmpl-[0-9a-f-]{36}$" });
const systemFingerprint = T.String({
  pattern: "^fp_[0-9a-f]+$",
  description: "Changes only when the weights, the engine's build or the model's settings do.",
});

export const ChatCompletion = T.Object({
  id,
  object: T.Literal("chat.completion"),
  created: T.Integer({ description: "Unix time in seconds." }),
  model: T.String(),
  system_fingerprint: systemFingerprint,
  choices: T.Array(
    T.Object({
      index: count,
      message: T.Object({ role: T.Literal("assistant"), content: T.String() }),
      logprobs: T.Null(),
      finish_reason: FinishReason,
    }),
  ),
  usage: Usage,
});

export type ChatCompletion = Static<typeof ChatCompletion>;

export const ChatCompletionChunk = T.Object({
  id,
  object: T.Literal("chat.completion.chunk"),
  created: T.Integer({ description: "Unix time in seconds." }),
  model: T.String(),
  system_fingerprint: systemFingerprint,
  choices: T.Array(
    T.Object({
      index: count,
      delta: T.Object({
        role: T.Optional(T.Literal("assistant")),
        content: T.Optional(T.String()),
      }),
      logprobs: T.Null(),
      finish_reason: T.Union([FinishReason, T.Null()]),
    }),
  ),
  usage: T.Optional(T.Union([Usage, T.Null()])),
});

export type ChatCompletionChunk = Static<typeof ChatCompletionChunk>;

export const chatSchemas = { ChatCompletionRequest, ChatCompletion, ChatCompletionChunk };
