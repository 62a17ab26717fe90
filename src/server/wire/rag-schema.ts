/** The field that says how an answer is grounded. */
import { type Static, Type as T } from "@sinclair/typebox";
import { ragPolicies } from "../../core/chat/rag-policy.ts";
import { nullable, open } from "./fields.ts";
import { Filter } from "./filter.ts";
import { StoreReferences } from "./store-references.ts";

export const ragField = nullable(
  T.Union(
    [
      T.Boolean(),
      T.Literal("auto"),
      T.Object(
        {
          auto: T.Optional(T.Boolean()),
          policy: T.Optional(T.Union(ragPolicies.map((policy) => T.Literal(policy)))),
          limit: T.Optional(T.Integer({ minimum: 1 })),
          score_threshold: T.Optional(T.Number({ minimum: -1, maximum: 1 })),
          context_window: T.Optional(T.Integer({ minimum: 1, maximum: 100 })),
          vector_store_ids: T.Optional(T.Union([StoreReferences, T.Null()])),
          filters: T.Optional(T.Union([Filter, T.Null()])),
        },
        open,
      ),
    ],
    {
      "x-expected":
        'true, false, "auto" or {auto, policy, limit, score_threshold, context_window, vector_store_ids, filters}',
    },
  ),
  "Whether the answer is grounded in the node's collection. `true`: as the node does it, or into the last user message where it does not. `auto`, alone or in an object: only with passages that clearly match (the node's `rag.auto_threshold`, and at most 0.05 below the best); without any the answer is as without this field. `limit` and `score_threshold` narrow the node's; a `context_window` above the node's is refused. `vector_store_ids`: ids or names of vector stores, searched as one in the place of the node's collection; `filters`: which of their files count, as a vector store's search has them. An extension.",
);

export type RagField = Static<typeof ragField> | undefined;
