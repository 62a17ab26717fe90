/** GET and DELETE /v1/responses/{response_id}, its input items, and cancel. */
import { Type as T } from "@sinclair/typebox";
import { given } from "../../core/given.ts";
import { responseStatuses, type SavedResponse } from "../../core/ports/response-store.ts";
import type { ResponseService } from "../../core/responses/response-service.ts";
import { redactPaths } from "../middleware/errors.ts";
import { documentErrors } from "../openapi.ts";
import { defineOperation, described } from "../operation.ts";
import { ignored, oneOf, openObject, optional, orNull, rejectedAs } from "../wire/fields.ts";
import {
  deletedAnswer,
  pageAnswer,
  pageOfItems,
  pageQuery,
  toPage,
  toPageRequest,
} from "../wire/page-schema.ts";
import { inputItemId, itemWith, shownWith } from "./responses/items.ts";
import { responseExample as storedExample } from "./responses/operation.ts";
import {
  type Includable,
  includeList,
  ListedItem,
  type ResponseObject,
} from "./responses/schema.ts";

const include = T.Optional(
  includeList({
    description:
      "What else to return: `file_search_call.results` and `message.output_text.logprobs`, if the response was made with them.",
  }),
);

const notStreamed =
  "is 'true', and a stored response is not streamed; retry until its status is neither 'queued' nor 'in_progress'";

const ResponseQuery = T.Object({
  include,
  stream: optional(
    T.Union([rejectedAs(T.Literal("true"), notStreamed), T.Literal("false")]),
    "`true` is rejected: a stored response is not streamed.",
  ),
  starting_after: ignored("It is about streams."),
  include_obfuscation: ignored("It is about streams."),
});

const InputItemQuery = pageQuery({ include });

export const StoredResponse = openObject(
  {
    id: T.String(),
    object: T.Literal("response"),
    status: oneOf(responseStatuses),
    error: orNull(T.Object({ code: T.String(), message: T.String() }), {
      description: "Why the status is `failed`.",
    }),
  },
  { description: "The response as `POST /v1/responses` answers it." },
);

const cancelledExample: ResponseObject = {
  ...storedExample,
  completed_at: null,
  status: "cancelled",
  background: true,
  output: [],
  usage: null,
};

const inputExample = {
  id: inputItemId(storedExample.id, "msg", 0),
  type: "message",
  role: "user",
  content: [{ type: "input_text", text: "What is the capital of France?" }],
};

type Needs = { responses: ResponseService };

const about = {
  name: "responses",
  tag: "Responses",
  scope: "chat",
  // A background response holds a place of its caller, which may be the only one.
  takesPlace: false,
  parameters: { response_id: "The response's id." },
  errors: {
    ...documentErrors,
    403: "The key lacks the scope.",
    404: "There is no such response: it was not stored, was deleted, has expired, or belongs to another key.",
    429: "The caller's limit is reached: code `rate_limit_exceeded`.",
    503: "The stored responses cannot be read or written.",
  },
} as const;

export const storedResponseOperations = [
  defineOperation({
    ...about,
    route: "GET /v1/responses/:response_id",
    operationId: "getResponse",
    summary: "Read a stored response",
    description:
      "Responses are stored for `responses.keep_for` seconds, for the key that they were made with.",
    query: ResponseQuery,
    answer: described({ StoredResponse }, "The response in its current state.", storedExample),
    handler: async ({ parameters, query }, context, services: Needs) => {
      const response = await services.responses.get(parameters.response_id, context.authenticated);
      return { json: toStoredResponse(response, query.include) };
    },
  }),
  defineOperation({
    ...about,
    route: "DELETE /v1/responses/:response_id",
    operationId: "deleteResponse",
    summary: "Delete a stored response",
    description:
      "Deletes it with its conversation; one that is being made is cancelled. Responses that continue it have their own copy of the conversation, and stay.",
    answer: deletedAnswer("ResponseDeleted", "response", storedExample.id),
    handler: async ({ parameters }, context, { responses }: Needs) => {
      const { response_id: id } = parameters;
      await responses.delete(id, context.authenticated);
      return { json: { id, object: "response", deleted: true } };
    },
  }),
  defineOperation({
    ...about,
    route: "GET /v1/responses/:response_id/input_items",
    operationId: "listResponseInputItems",
    summary: "List the input items of a response",
    query: InputItemQuery,
    answer: pageAnswer("ResponseInputItemList", ListedItem, "items", inputExample),
    handler: async ({ parameters, query }, context, services: Needs) => {
      const { input } = await services.responses.get(parameters.response_id, context.authenticated);
      const page = pageOfItems(input, toPageRequest(query));
      return { json: toPage(page, (item) => itemWith(item, query.include)) };
    },
  }),
  defineOperation({
    ...about,
    route: "POST /v1/responses/:response_id/cancel",
    operationId: "cancelResponse",
    summary: "Cancel a background response",
    description:
      "Only a response with `background: true` can be cancelled. One that has ended stays as it is.",
    answer: described({ StoredResponse }, "The response in its current state.", cancelledExample),
    handler: async ({ parameters }, context, { responses }: Needs) => {
      const { response_id: id } = parameters;
      return { json: toStoredResponse(await responses.cancel(id, context.authenticated)) };
    },
  }),
] as const;

/** The response with its current status, which may have changed since its body was stored. */
function toStoredResponse(
  { body, status, failure }: SavedResponse,
  include?: readonly Includable[],
): object {
  const error = failure && { code: failure.code, message: redactPaths(failure.message) };
  return { error: null, ...shownWith(body, include), status, ...given({ error }) };
}
