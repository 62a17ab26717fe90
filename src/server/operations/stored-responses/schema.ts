/** Schemas of stored responses. */
import { Type as T } from "@sinclair/typebox";
import { responseStatuses } from "../../../core/ports/response-store.ts";
import { ignored, oneOf, openObject, optional, orNull, rejectedAs } from "../../wire/fields.ts";
import { pageQuery } from "../../wire/page-schema.ts";
import { includeList } from "../responses/schema.ts";

const include = T.Optional(
  includeList({
    description:
      "What else to return: `file_search_call.results` and `message.output_text.logprobs`, if the response was made with them.",
  }),
);

const notStreamed =
  "is 'true', and a stored response is not streamed; retry until its status is neither 'queued' nor 'in_progress'";

export const ResponseQuery = T.Object({
  include,
  stream: optional(
    T.Union([rejectedAs(T.Literal("true"), notStreamed), T.Literal("false")]),
    "`true` is rejected: a stored response is not streamed.",
  ),
  starting_after: ignored("It is about streams."),
  include_obfuscation: ignored("It is about streams."),
});

export const InputItemQuery = pageQuery({ include });

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
