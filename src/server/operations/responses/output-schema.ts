/** What a response is made of, on the wire: messages, calls of functions, thoughts and searches. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Logprobs } from "../../wire/logprobs.ts";

const count = T.Integer({ minimum: 0 });

/** While it is written, whole, or cut short. */
const ItemStatus = T.Union([
  T.Literal("in_progress"),
  T.Literal("completed"),
  T.Literal("incomplete"),
]);

export const Annotation = T.Object(
  {
    type: T.Literal("file_citation"),
    file_id: T.String(),
    filename: T.String(),
    index: T.Integer({ minimum: 0, description: "Where in the text the marker stands." }),
  },
  { description: "A passage that the text names by its marker." },
);

export type Annotation = Static<typeof Annotation>;

export const OutputText = T.Object({
  type: T.Literal("output_text"),
  text: T.String(),
  annotations: T.Array(Annotation),
  logprobs: T.Optional(Logprobs),
});

export type OutputText = Static<typeof OutputText>;

export const ReasoningText = T.Object({ type: T.Literal("reasoning_text"), text: T.String() });

export type ReasoningText = Static<typeof ReasoningText>;

export const OutputMessage = T.Object({
  type: T.Literal("message"),
  id: T.String(),
  status: ItemStatus,
  role: T.Literal("assistant"),
  content: T.Array(OutputText),
});

export type OutputMessage = Static<typeof OutputMessage>;

export const FunctionCall = T.Object({
  type: T.Literal("function_call"),
  id: T.String(),
  status: ItemStatus,
  call_id: T.String({ description: "What its `function_call_output` names." }),
  name: T.String(),
  namespace: T.Optional(
    T.String({ description: "The one that the function was offered in, if any." }),
  ),
  arguments: T.String({ description: "JSON." }),
});

export type FunctionCall = Static<typeof FunctionCall>;

export const Reasoning = T.Object({
  type: T.Literal("reasoning"),
  id: T.String(),
  status: ItemStatus,
  summary: T.Array(T.Unknown(), { description: "Always empty: nothing sums thoughts up." }),
  content: T.Array(ReasoningText, { description: "A reasoning model's thoughts." }),
});

export type Reasoning = Static<typeof Reasoning>;

const attribute = T.Union([T.String(), T.Number(), T.Boolean()]);

export const FileSearchCall = T.Object({
  type: T.Literal("file_search_call"),
  id: T.String(),
  status: T.Union([
    T.Literal("in_progress"),
    T.Literal("searching"),
    T.Literal("completed"),
    T.Literal("incomplete"),
    T.Literal("failed"),
  ]),
  queries: T.Array(T.String()),
  results: T.Union(
    [
      T.Array(
        T.Object({
          file_id: T.String(),
          filename: T.String(),
          score: T.Number(),
          text: T.String(),
          attributes: T.Record(T.String(), attribute),
        }),
      ),
      T.Null(),
    ],
    { description: 'With `include: ["file_search_call.results"]`; else null.' },
  ),
});

export type FileSearchCall = Static<typeof FileSearchCall>;

export const OutputItem = T.Union([OutputMessage, FunctionCall, Reasoning, FileSearchCall]);

export type OutputItem = Static<typeof OutputItem>;

export const ResponseUsage = T.Object({
  input_tokens: count,
  input_tokens_details: T.Object({
    cached_tokens: T.Integer({ minimum: 0, description: "Those that needed no evaluation." }),
  }),
  output_tokens: count,
  output_tokens_details: T.Object({
    reasoning_tokens: T.Integer({ minimum: 0, description: "Those that were thoughts." }),
  }),
  total_tokens: count,
});

export type ResponseUsage = Static<typeof ResponseUsage>;
