/** Schemas of retrieval; apart from the operation, since the page uses their types. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Filter, StoreReferences } from "../../wire/attributes.ts";
import * as f from "../../wire/fields.ts";
import { PointMetadata } from "../../wire/grounding.ts";
import { Messages } from "../../wire/message-schema.ts";

export const RetrieveRequest = f.openObject({
  model: T.String({ minLength: 1, description: "Name of the collection's embedding model." }),
  messages: f.unexamined(Messages),
  limit: f.optional(f.integer(1), "Fewer points than the node's limit."),
  score_threshold: f.optional(f.number(-1, 1), "A higher score threshold than the node's."),
  collection: f.optional(
    T.Union([f.nonEmpty, StoreReferences, T.Null()], {
      "x-expected": "the name or id of a vector store, or a list of 1 to 16",
    }),
    "The name or id of a vector store, or a list of them that is searched as one. Default: the node's collection, or the stores that the key is bound to.",
  ),
  filters: f.nullable(Filter),
  include_metadata: f.optional(T.Boolean(), "Return where each passage comes from.", false),
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
