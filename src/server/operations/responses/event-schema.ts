/** The events of a streamed response, on the wire. */
import { type Static, Type as T, type TProperties } from "@sinclair/typebox";
import { Logprobs } from "../../wire/logprobs.ts";
import { Annotation, OutputItem, OutputText, ReasoningText } from "./output-schema.ts";
import { ResponseObject } from "./schema.ts";

const at = T.Integer({ minimum: 0 });

/** Events of several types that have the same fields. */
const events = <Name extends string, Fields extends TProperties>(
  types: readonly Name[],
  fields: Fields,
) =>
  T.Object({
    type: T.Union(types.map((type) => T.Literal(type))),
    sequence_number: at,
    ...fields,
  });

const inItem = { item_id: T.String(), output_index: at };
const inPart = { ...inItem, content_index: at };

export const ResponseStreamEvent = T.Union([
  events(
    [
      "response.queued",
      "response.created",
      "response.in_progress",
      "response.completed",
      "response.incomplete",
      "response.failed",
    ],
    { response: ResponseObject },
  ),
  events(["response.output_item.added", "response.output_item.done"], {
    output_index: at,
    item: OutputItem,
  }),
  events(["response.content_part.added", "response.content_part.done"], {
    ...inPart,
    part: T.Union([OutputText, ReasoningText]),
  }),
  events(["response.output_text.delta"], { ...inPart, delta: T.String(), logprobs: Logprobs }),
  events(["response.output_text.done"], { ...inPart, text: T.String(), logprobs: Logprobs }),
  events(["response.output_text.annotation.added"], {
    ...inPart,
    annotation_index: at,
    annotation: Annotation,
  }),
  events(["response.reasoning_text.delta"], { ...inPart, delta: T.String() }),
  events(["response.reasoning_text.done"], { ...inPart, text: T.String() }),
  events(["response.function_call_arguments.delta"], { ...inItem, delta: T.String() }),
  events(["response.function_call_arguments.done"], { ...inItem, arguments: T.String() }),
  events(
    [
      "response.file_search_call.in_progress",
      "response.file_search_call.searching",
      "response.file_search_call.completed",
    ],
    inItem,
  ),
  events(["error"], {
    code: T.Union([T.String(), T.Null()]),
    message: T.String(),
    param: T.Union([T.String(), T.Null()]),
  }),
]);

export type ResponseStreamEvent = Static<typeof ResponseStreamEvent>;
