/** A response on the wire, as it is answered, kept and streamed. */
import { type Static, Type as T } from "@sinclair/typebox";
import { responseStatuses } from "../../../core/ports/response-store.ts";
import { Metadata } from "../../wire/attributes.ts";
import { RetrievalReport } from "../../wire/retrieval-report-schema.ts";
import { OutputItem, ResponseUsage } from "./output-schema.ts";
import { ResponseTool, TextFormat, ToolChoice } from "./tool-schema.ts";

const orNull = <Schema extends Parameters<typeof T.Union>[0][number]>(schema: Schema) =>
  T.Union([schema, T.Null()]);

export const ResponseObject = T.Object({
  id: T.String({ pattern: "^resp_[0-9a-f]{32}$" }),
  object: T.Literal("response"),
  created_at: T.Integer({ description: "Unix time in seconds." }),
  completed_at: orNull(T.Integer({ description: "Unix time in seconds." })),
  status: T.Union(
    responseStatuses.map((status) => T.Literal(status)),
    { description: "`queued` and `cancelled` are of responses that are made in the background." },
  ),
  error: orNull(
    T.Object(
      { code: T.String(), message: T.String() },
      { description: "Why there is no answer, where the status is `failed`." },
    ),
  ),
  incomplete_details: orNull(
    T.Object(
      { reason: T.Union([T.Literal("max_output_tokens"), T.Literal("content_filter")]) },
      { description: "Why the answer was cut short, where the status is `incomplete`." },
    ),
  ),
  model: T.String(),
  instructions: orNull(T.String()),
  output: T.Array(OutputItem),
  usage: orNull(ResponseUsage),
  previous_response_id: orNull(T.String()),
  conversation: T.Optional(
    T.Object(
      { id: T.String() },
      { description: "The conversation that it was made in, if it was made in one." },
    ),
  ),
  background: T.Boolean(),
  store: T.Boolean({ description: "Whether the response is kept, and can be asked for again." }),
  metadata: Metadata,
  max_output_tokens: orNull(T.Integer()),
  max_tool_calls: orNull(T.Integer()),
  temperature: orNull(T.Number({ description: "As asked for; null: the model's own." })),
  top_p: orNull(T.Number({ description: "As asked for; null: the model's own." })),
  top_logprobs: T.Integer(),
  parallel_tool_calls: T.Boolean(),
  tool_choice: ToolChoice,
  tools: T.Array(ResponseTool),
  text: T.Object({ format: TextFormat }),
  reasoning: T.Object(
    { effort: T.Null(), summary: T.Null() },
    { description: "A model thinks as long as it does, and nothing sums its thoughts up." },
  ),
  truncation: T.Union([T.Literal("auto"), T.Literal("disabled")]),
  truncated_messages: T.Optional(
    T.Integer({
      minimum: 1,
      description:
        "How many of the oldest messages of the conversation were left out so that it fits, with `truncation: auto`. An extension.",
    }),
  ),
  service_tier: T.Literal("default"),
  system_fingerprint: T.Optional(
    T.String({
      description:
        "Changes only when the weights, the engine's build or the model's settings do. An extension.",
    }),
  ),
  retrieval: T.Optional(RetrievalReport),
});

export type ResponseObject = Static<typeof ResponseObject>;
