/** Schemas of stored responses. */
import { Type as T } from "@sinclair/typebox";
import { responseStatuses } from "../../../core/ports/response-store.ts";
import { ignored, openObject, optional, orNull, rejectedAs } from "../../wire/fields.ts";
import { pageQuery, pageSchema } from "../../wire/page-schema.ts";
import { includeList } from "../responses/tool-schema.ts";

const include = T.Optional(
  includeList({
    description:
      "What the answer has besides: `file_search_call.results` and `message.output_text.logprobs`, where the response was made with them. Of all others this node has nothing.",
  }),
);

const wholeOnly =
  "is 'true', and a stored response is answered whole; retry until its status is neither 'queued' nor 'in_progress'";

export const ResponseQuery = T.Object({
  include,
  stream: optional(
    T.Union([rejectedAs(T.Literal("true"), wholeOnly), T.Literal("false")]),
    "`true` is rejected: a stored response is answered whole.",
  ),
  starting_after: ignored("It is about streams."),
  include_obfuscation: ignored("It is about streams."),
});

export const itemLimits = { most: 100, usual: 20 };

export const InputItemQuery = pageQuery(itemLimits, { include });

export const StoredResponse = openObject(
  {
    id: T.String(),
    object: T.Literal("response"),
    status: T.Union(responseStatuses.map((status) => T.Literal(status))),
    error: orNull(T.Object({ code: T.String(), message: T.String() }), {
      description: "Why there is no answer, where the status is `failed`.",
    }),
  },
  { description: "The response as `POST /v1/responses` answers it." },
);

const InputItem = openObject(
  { id: T.String(), type: T.Optional(T.String()) },
  { description: "A message, a call of a function, or what a function returned." },
);

export const InputItemList = pageSchema(InputItem);
