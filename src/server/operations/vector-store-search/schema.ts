/** A search in a vector store, on the wire. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Attributes } from "../../wire/attributes.ts";
import { open } from "../../wire/fields.ts";
import { Filter } from "../../wire/filter.ts";

const mostQueries = 16;

export const VectorStoreSearchRequest = T.Object(
  {
    query: T.Union(
      [
        T.String({ minLength: 1 }),
        T.Array(T.String({ minLength: 1 }), { minItems: 1, maxItems: mostQueries }),
      ],
      {
        "x-expected": `a text, or a list of 1 to ${mostQueries} texts`,
        description: "The question, or several: what is found for any of them counts.",
      },
    ),
    filters: T.Optional(T.Union([Filter, T.Null()])),
    max_num_results: T.Optional(
      T.Union([T.Integer({ minimum: 1, maximum: 50 }), T.Null()], {
        default: 10,
        description: "Most passages.",
      }),
    ),
    ranking_options: T.Optional(
      T.Union([
        T.Object(
          {
            ranker: T.Optional(
              T.Union([
                T.Literal("none"),
                T.Literal("auto"),
                T.Literal("default-2024-11-15"),
                T.Null(),
              ]),
            ),
            score_threshold: T.Optional(
              T.Union([T.Number({ minimum: 0, maximum: 1 }), T.Null()], {
                default: 0,
                description: "Least score of a passage.",
              }),
            ),
          },
          {
            ...open,
            description:
              "`ranker`: `none` asks no reranking model; the others ask the node's, where it has one.",
          },
        ),
        T.Null(),
      ]),
    ),
    rewrite_query: T.Optional(
      T.Union([T.Boolean(), T.Null()], {
        default: false,
        description: "`true` is refused: the node searches for what was asked.",
      }),
    ),
  },
  open,
);

export type VectorStoreSearchRequest = Static<typeof VectorStoreSearchRequest>;

export const VectorStoreSearchResult = T.Object({
  object: T.Literal("vector_store.search_results.page"),
  search_query: T.Array(T.String()),
  data: T.Array(
    T.Object({
      file_id: T.String(),
      filename: T.String(),
      score: T.Number({ description: "As retrieval scores." }),
      attributes: Attributes,
      content: T.Array(T.Object({ type: T.Literal("text"), text: T.String() })),
    }),
    { description: "One for each passage, in descending score." },
  ),
  has_more: T.Literal(false),
  next_page: T.Null(),
});

export type VectorStoreSearchResult = Static<typeof VectorStoreSearchResult>;
