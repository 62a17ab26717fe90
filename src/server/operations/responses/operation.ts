/** POST /v1/responses */
import { defineOperation } from "../../define-operation.ts";
import { modelErrors } from "../../openapi.ts";
import { tags } from "../../operation.ts";
import { scopesOfRag } from "../../wire/rag.ts";
import { ResponseStreamEvent } from "./event-schema.ts";
import { responseExamples } from "./examples.ts";
import { createResponse } from "./handler.ts";
import { ResponseRequest } from "./request-schema.ts";
import { ResponseObject } from "./schema.ts";

export const responses = defineOperation({
  method: "POST",
  path: "/v1/responses",
  name: "responses",
  genAiName: "chat",
  operationId: "createResponse",
  summary: "Make a response",
  description:
    "Generates an answer as the items of a response, as one JSON body or, with `stream`, as server-sent events that end with `response.completed`, `response.incomplete` or `response.failed`.",
  tag: tags.responses,
  scope: "chat",
  body: {
    name: "ResponseRequest",
    schema: ResponseRequest,
    example: responseExamples.request,
    lists: [{ param: "input", limit: "maxMessages" }],
    scopes: ({ rag, tools }) =>
      tools?.some(({ type }) => type === "file_search") === true ? ["retrieve"] : scopesOfRag(rag),
    logged: ({ model, instructions, input, previous_response_id }) => ({
      ...{ model, instructions, input, previous_response_id },
    }),
  },
  answer: {
    name: "Response",
    schema: ResponseObject,
    description: "The response.",
    example: responseExamples.response,
  },
  stream: {
    name: "ResponseStreamEvent",
    schema: ResponseStreamEvent,
    description:
      "Each as a line `event: <type>` and a line `data: <event>`, numbered from 0 by `sequence_number`.",
    example: responseExamples.event,
  },
  errors: {
    ...modelErrors,
    404: "The named model is not on this node, or of another type: code `model_not_found`. Or there is no such response to go on from: it was not kept, was deleted, its time is over, or it is another key's.",
  },
  handler: createResponse,
});
