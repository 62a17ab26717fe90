/** Schemas of retrieval. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Filter, StoreReferences } from "../../wire/attributes.ts";
import { nullable, openObject, optional, unexamined } from "../../wire/fields.ts";
import { PointMetadata } from "../../wire/grounding.ts";
import { Messages } from "../../wire/messages.ts";

export const RetrieveRequest = openObject({
  model: T.String({ minLength: 1, description: "Name of the collection's embedding model." }),
  messages: unexamined(Messages),
  limit: optional(T.Integer({ minimum: 1 }), "Fewer points than the node's own limit."),
  score_threshold: optional(
    T.Number({ minimum: -1, maximum: 1 }),
    "A higher least score than the node's own.",
  ),
  collection: optional(
    T.Union([T.String({ minLength: 1 }), StoreReferences, T.Null()], {
      "x-expected": "the name or id of a vector store, or a list of 1 to 16",
    }),
    "Where to search: the name or id of a vector store, or of several that are searched as one; default: the node's collection, or those that the key is bound to.",
  ),
  filters: nullable(Filter),
  include_metadata: optional(T.Boolean(), "Say where each passage comes from.", false),
});

export type RetrieveRequest = Static<typeof RetrieveRequest>;

export const RetrieveResult = T.Object({
  points: T.Array(
    T.Object({
      source: T.String({ description: "The passage's text." }),
      score: T.Number({
        description:
          "Similarity to the query, -1 to 1: the cosine of the vectors; in hybrid search raised towards 1 by shared words; with a reranking model, the mean of that and the model's judgement.",
      }),
      metadata: T.Optional(PointMetadata),
    }),
    { description: "In descending score." },
  ),
  limit: T.Integer({ description: "The limit that was applied." }),
  score_threshold: T.Number({ description: "The least score that was applied." }),
});

export type RetrieveResult = Static<typeof RetrieveResult>;
