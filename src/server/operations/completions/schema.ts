/** Schemas of text completions, the OpenAI API before chat. */
import { type Static, Type as T } from "@sinclair/typebox";
import { headFields, streamOptions, Usage } from "../../wire/completion.ts";
import {
  acceptedAs,
  count,
  ignored,
  nullable,
  oneOf,
  openObject,
  orNull,
  rejected,
} from "../../wire/fields.ts";
import { generationFields, samplingFields } from "../../wire/generation-fields.ts";

const Tokens = T.Array(count(), { minItems: 1 });

/** The API's own default, which is short. */
export const defaultMaxTokens = 16;

export const CompletionRequest = openObject({
  model: T.String({ minLength: 1, description: "Name of a chat model of this node." }),
  prompt: T.Union(
    [
      T.String(),
      T.Array(T.String(), { minItems: 1 }),
      Tokens,
      T.Array(Tokens, { minItems: 1 }),
      T.Null(),
    ],
    {
      "x-expected": "a string or a list of strings, or token ids in their place",
      description:
        "What is continued, as it stands: no chat template is applied. One text, or several; or the token ids of one or of several. A text begins as the model's file says, and special tokens in it count. Null or empty: the beginning of a document.",
    },
  ),
  ...samplingFields,
  max_tokens: nullable(
    count(),
    "Most tokens of each answer, which then ends with the reason `length`; 0: none, for `echo`.",
    defaultMaxTokens,
  ),
  n: nullable(
    T.Integer({ minimum: 1, maximum: 20 }),
    "How many answers each prompt gets; each takes the seed after that of the one before. All prompts of a request have at most 128 answers together, of which 8 are generated at a time.",
    1,
  ),
  best_of: nullable(
    T.Integer({ minimum: 1, maximum: 20 }),
    "So many answers are generated for each prompt, and the `n` with the highest log probability per token are sent, best first. All of them count in `usage`. Not with `stream`.",
  ),
  echo: nullable(
    T.Boolean(),
    "Whether each answer begins with its prompt. With `logprobs` the prompt's tokens have theirs too, the first one `null`: the whole prompt is evaluated for that, once for all of its answers. In a stream a long prompt comes in several chunks.",
    false,
  ),
  suffix: nullable(
    T.String(),
    "What follows the answer: the model fills in the middle, where its vocabulary has the tokens for it, else it is rejected.",
  ),
  logprobs: nullable(
    T.Integer({ minimum: 0, maximum: 5 }),
    "Report the log probability of each token, and of so many of the likeliest in its place; with `echo` also of the prompt's. The prompts of all answers may have 262,144 tokens together then, unless the answer is streamed.",
  ),
  ...generationFields,
  stream: nullable(T.Boolean(), "Send the answers in pieces as they are generated.", false),
  stream_options: streamOptions,
  user: nullable(acceptedAs(T.String(), "The answer does not depend on the caller.")),
  messages: rejected("is for /v1/chat/completions; send 'prompt'"),
  max_completion_tokens: rejected("is of chat completions; send 'max_tokens'"),
  tools: rejected(
    "cannot be honoured: a prompt as it stands has no tools; ask /v1/chat/completions",
  ),
  response_format: rejected(
    "cannot be honoured: a prompt as it stands has no format; ask /v1/chat/completions",
  ),
  grammar: rejected("cannot be honoured; send a JSON schema to /v1/chat/completions"),
  json_schema: rejected("cannot be honoured; send 'response_format' to /v1/chat/completions"),
  rag: rejected("cannot be honoured: a prompt is continued as it stands; ask /v1/chat/completions"),
  cache_prompt: ignored("llama-server's; the node finds what it has evaluated before by itself."),
});

export type CompletionRequest = Static<typeof CompletionRequest>;

const Logprobs = T.Object({
  tokens: T.Array(T.String({ description: "`bytes:\\xf0` where it is no whole character." })),
  token_logprobs: T.Array(orNull(T.Number()), {
    description: "Null for the first token of a prompt.",
  }),
  top_logprobs: T.Array(orNull(T.Record(T.String(), T.Number()))),
  text_offset: T.Array(count(), {
    description: "Where each token begins in `text`, in characters (Unicode code points).",
  }),
});

const FinishReason = oneOf(["stop", "length", "content_filter"], {
  description: "`content_filter` comes from the remote server of an upstream model.",
});

const head = {
  id: T.String({ pattern: "^cmpl-[0-9a-f-]{36}$" }),
  object: T.Literal("text_completion"),
  ...headFields,
};

const choice = {
  index: count("Those of the first prompt come first, then those of the second."),
  text: T.String(),
  logprobs: orNull(Logprobs),
};

export const Completion = T.Object({
  ...head,
  choices: T.Array(T.Object({ ...choice, finish_reason: FinishReason })),
  usage: Usage,
});

export type Completion = Static<typeof Completion>;

export const CompletionChunk = T.Object({
  ...head,
  choices: T.Array(T.Object({ ...choice, finish_reason: orNull(FinishReason) })),
  usage: nullable(Usage),
});

export type CompletionChunk = Static<typeof CompletionChunk>;
