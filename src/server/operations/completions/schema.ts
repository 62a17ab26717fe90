/** Schemas of text completions, the OpenAI API before chat. */
import { type Static, Type as T } from "@sinclair/typebox";
import { headFields, streamFields, Usage } from "../../wire/completion.ts";
import * as f from "../../wire/fields.ts";
import { generationFields, samplingFields } from "../../wire/generation-fields.ts";

const Tokens = T.Array(f.count(), { minItems: 1 });

export const defaultMaxTokens = 16;

const useChat = "cannot be honoured: a prompt is continued as it is; use /v1/chat/completions";

export const CompletionRequest = f.openObject({
  model: f.modelName("a chat model"),
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
        "One text or several, or the token ids of one or several; continued as they are, without a chat template. The model's file says how a text begins, and special tokens in it count. Null or empty: the beginning of a document.",
    },
  ),
  ...samplingFields,
  max_tokens: f.nullable(
    f.count(),
    "Most tokens of each answer; it then ends with the reason `length`. 0: none, for `echo`.",
    defaultMaxTokens,
  ),
  n: f.nullable(
    f.integer(1, 20),
    "How many answers each prompt gets, each with the next seed. A request has at most 128 answers in all; 8 are generated at a time.",
    1,
  ),
  best_of: f.nullable(
    f.integer(1, 20),
    "Generates this many answers for each prompt and sends the `n` with the highest log probability per token, best first. All count in `usage`. Not with `stream`.",
  ),
  echo: f.flag(
    "Whether each answer begins with its prompt. With `logprobs`, the prompt's tokens have theirs too, the first one `null`; the whole prompt is evaluated for that, once for all its answers. A stream sends a long prompt in several chunks.",
    false,
  ),
  suffix: f.nullable(
    T.String(),
    "The text after the answer: the model fills in the middle. Rejected if its vocabulary has no tokens for that.",
  ),
  logprobs: f.nullable(
    f.integer(0, 5),
    "Report the log probability of each token and of this many alternatives; with `echo`, of the prompt too. All prompts may then have 262,144 tokens in total, unless the answer is streamed.",
  ),
  ...generationFields,
  ...streamFields,
  user: f.nullable(f.acceptedAs(T.String(), "The answer does not depend on the caller.")),
  messages: f.rejected("is for /v1/chat/completions; send 'prompt'"),
  max_completion_tokens: f.rejected("is for /v1/chat/completions; send 'max_tokens'"),
  tools: f.rejected(useChat),
  response_format: f.rejected(useChat),
  grammar: f.rejected("cannot be honoured; send a JSON schema to /v1/chat/completions"),
  json_schema: f.rejected("cannot be honoured; send 'response_format' to /v1/chat/completions"),
  rag: f.rejected(useChat),
  cache_prompt: f.ignored("The node caches prompts by itself."),
});

export type CompletionRequest = Static<typeof CompletionRequest>;

const Logprobs = T.Object({
  tokens: T.Array(T.String({ description: "`bytes:\\xf0` if it is not a whole character." })),
  token_logprobs: T.Array(f.orNull(T.Number()), {
    description: "Null for a prompt's first token.",
  }),
  top_logprobs: T.Array(f.orNull(T.Record(T.String(), T.Number()))),
  text_offset: T.Array(f.count("Where the token begins in `text`, in Unicode code points.")),
});

const FinishReason = f.oneOf(["stop", "length", "content_filter"], {
  description: "`content_filter` comes from an upstream server.",
});

const head = {
  id: T.String({ pattern: "^cmpl-[0-9a-f-]{36}$" }),
  object: T.Literal("text_completion"),
  ...headFields,
};

const choice = {
  index: f.count("In the order of the prompts."),
  text: T.String(),
  logprobs: f.orNull(Logprobs),
};

export const Completion = T.Object({
  ...head,
  choices: T.Array(T.Object({ ...choice, finish_reason: FinishReason })),
  usage: Usage,
});

export type Completion = Static<typeof Completion>;

export const CompletionChunk = T.Object({
  ...head,
  choices: T.Array(T.Object({ ...choice, finish_reason: f.orNull(FinishReason) })),
  usage: f.nullable(Usage),
});

export type CompletionChunk = Static<typeof CompletionChunk>;
