/** The events of a streamed response, on the wire. */
import { type Static, Type as T, type TProperties } from "@sinclair/typebox";
import { Annotation, Logprobs, OutputItem, OutputText, ReasoningText } from "./output-schema.ts";
import { ResponseObject } from "./schema.ts";

const at = T.Integer({ minimum: 0 });

const event = <Name extends string, Fields extends TProperties>(type: Name, fields: Fields) =>
  T.Object({ type: T.Literal(type), sequence_number: at, ...fields });

const ofResponse = { response: ResponseObject };
const ofItem = { output_index: at, item: OutputItem };
const inItem = { item_id: T.String(), output_index: at };
const inPart = { ...inItem, content_index: at };
const part = T.Union([OutputText, ReasoningText]);

export const ResponseStreamEvent = T.Union([
  event("response.queued", ofResponse),
  event("response.created", ofResponse),
  event("response.in_progress", ofResponse),
  event("response.output_item.added", ofItem),
  event("response.content_part.added", { ...inPart, part }),
  event("response.output_text.delta", { ...inPart, delta: T.String(), logprobs: Logprobs }),
  event("response.output_text.annotation.added", {
    ...inPart,
    annotation_index: at,
    annotation: Annotation,
  }),
  event("response.output_text.done", { ...inPart, text: T.String(), logprobs: Logprobs }),
  event("response.reasoning_text.delta", { ...inPart, delta: T.String() }),
  event("response.reasoning_text.done", { ...inPart, text: T.String() }),
  event("response.content_part.done", { ...inPart, part }),
  event("response.function_call_arguments.delta", { ...inItem, delta: T.String() }),
  event("response.function_call_arguments.done", {
    ...inItem,
    name: T.String(),
    arguments: T.String(),
  }),
  event("response.file_search_call.in_progress", inItem),
  event("response.file_search_call.searching", inItem),
  event("response.file_search_call.completed", inItem),
  event("response.output_item.done", ofItem),
  event("response.completed", ofResponse),
  event("response.incomplete", ofResponse),
  event("response.failed", ofResponse),
  event("error", {
    code: T.Union([T.String(), T.Null()]),
    message: T.String(),
    param: T.Union([T.String(), T.Null()]),
  }),
]);

export type ResponseStreamEvent = Static<typeof ResponseStreamEvent>;
