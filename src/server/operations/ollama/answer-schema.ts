/** Schemas of Ollama's answers: whole, or each line of a stream. */
import { type Static, Type as T, type TProperties } from "@sinclair/typebox";
import { Logprobs } from "../../wire/completion.ts";
import { count, oneOf, optional } from "../../wire/fields.ts";
import { RetrievalReport } from "../../wire/grounding.ts";

export const Nanoseconds = (description: string) =>
  T.Integer({ minimum: 0, description: `${description}, in nanoseconds.` });

export const Time = T.String({ format: "date-time" });

/** Only the last line of a stream has them. */
const Ending = T.Object({
  done_reason: oneOf(["stop", "length", "load", "unload", "content_filter"], {
    description:
      "`load`: nothing was asked, and the model is loaded; `unload`: it is not any more. `content_filter`: from an upstream server.",
  }),
  total_duration: Nanoseconds("Since the request arrived"),
  load_duration: Nanoseconds("How long it waited for the model"),
  prompt_eval_count: count("Tokens of the prompt, cached ones included."),
  prompt_eval_duration: Nanoseconds("Until the first token"),
  eval_count: count("Tokens of the answer, thoughts included."),
  eval_duration: Nanoseconds("From the first token to the last"),
  retrieval: RetrievalReport,
});

export type Ending = Static<typeof Ending>;

const answerWith = <Fields extends TProperties>(fields: Fields) =>
  T.Object({
    model: T.String({ description: "The name as it was asked for." }),
    created_at: Time,
    ...fields,
    done: T.Boolean({ description: "Whether this is the end of the answer." }),
    logprobs: T.Optional(Logprobs),
    ...T.Partial(Ending).properties,
  });

const thinking = optional(T.String(), "The thoughts of a reasoning model.");

const ToolCall = T.Object({
  id: T.String(),
  function: T.Object({
    index: count("Its place among the answer's calls."),
    name: T.String(),
    arguments: T.Record(T.String(), T.Unknown()),
  }),
});

export const OllamaChatAnswer = answerWith({
  message: T.Object({
    role: T.Literal("assistant"),
    content: T.String(),
    thinking,
    tool_calls: optional(T.Array(ToolCall), "A call that `num_predict` cut short is left out."),
  }),
});

export type OllamaChatAnswer = Static<typeof OllamaChatAnswer>;

export const OllamaGenerateAnswer = answerWith({
  response: T.String(),
  thinking,
  context: optional(
    T.Array(T.Integer(), { maxItems: 0 }),
    "Empty, at the end of an answer with the model's template, for clients that look for it: the node has no state to send back. Send conversations to /api/chat.",
  ),
});

export type OllamaGenerateAnswer = Static<typeof OllamaGenerateAnswer>;
