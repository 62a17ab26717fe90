/** Schemas of retrieval; apart from the operation, since the page uses their types. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Filter, StoreReferences } from "../../wire/attributes.ts";
import {
  integer,
  nonEmpty,
  nullable,
  number,
  openObject,
  optional,
  unexamined,
} from "../../wire/fields.ts";
import { PointMetadata } from "../../wire/grounding.ts";
import { Messages } from "../../wire/message-schema.ts";

export const RetrieveRequest = openObject({
  model: T.String({ minLength: 1, description: "Name of the collection's embedding model." }),
  messages: unexamined(Messages),
  limit: optional(integer(1), "Fewer points than the node's limit."),
  score_threshold: optional(number(-1, 1), "A higher score threshold than the node's."),
  collection: optional(
    T.Union([nonEmpty, StoreReferences, T.Null()], {
      "x-expected": "the name or id of a vector store, or a list of 1 to 16",
    }),
    "The name or id of a vector store, or a list of them that is searched as one. Default: the node's collection, or the stores that the key is bound to.",
  ),
  filters: nullable(Filter),
  include_metadata: optional(T.Boolean(), "Return where each passage comes from.", false),
});

export type RetrieveRequest = Static<typeof RetrieveRequest>;

export const RetrieveResult = T.Object({
  points: T.Array(
    T.Object({
      source: T.String({ description: "The passage's text." }),
      score: T.Number({
        description:
          "Similarity to the query, -1 to 1: the cosine of the vectors. Shared words raise it in hybrid search; a reranking model's score is averaged with it.",
      }),
      metadata: T.Optional(PointMetadata),
    }),
    { description: "In descending score." },
  ),
  limit: T.Integer({ description: "The limit that was applied." }),
  score_threshold: T.Number({ description: "The least score that was applied." }),
});

export type RetrieveResult = Static<typeof RetrieveResult>;
