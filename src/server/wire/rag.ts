/** What a request says of grounding: the field, and what it means. */
import { type Static, Type as T } from "@sinclair/typebox";
import type { RagRequest } from "../../core/chat/grounding.ts";
import { ragPolicies } from "../../core/chat/rag-policy.ts";
import type { Scope } from "../../core/limits/api-key.ts";
import { unknownKeys } from "../middleware/ignored-fields.ts";
import { nullable, open } from "./fields.ts";
import { Filter, toFilter } from "./filter.ts";
import { StoreReferences } from "./store-references.ts";
import { withoutNulls } from "./without-nulls.ts";

export const ragField = nullable(
  T.Union(
    [
      T.Boolean(),
      T.Object(
        {
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
        "true, false or {policy, limit, score_threshold, context_window, vector_store_ids, filters}",
    },
  ),
  "Whether the answer is grounded in the node's collection. `true`: as the node does it, or into the last user message where it does not. `limit` and `score_threshold` narrow the node's; a `context_window` above the node's is refused. `vector_store_ids`: ids or names of vector stores, searched as one in the place of the node's collection; `filters`: which of their files count, as a vector store's search has them. An extension.",
);

type RagField = Static<typeof ragField> | undefined;

const ragNames = [
  "policy",
  "limit",
  "score_threshold",
  "context_window",
  "vector_store_ids",
  "filters",
];

/** Names of what is in the field and not acted on. */
export const unknownInRag = (rag: RagField): string[] =>
  unknownKeys(typeof rag === "object" ? (rag ?? {}) : {}, ragNames).map((name) => `rag.${name}`);

/** Who asks for passages must be one who may. */
export const scopesOfRag = (rag: RagField): readonly Scope[] =>
  rag === undefined || rag === null || rag === false ? [] : ["retrieve"];

export function toRag(rag: RagField): RagRequest | undefined {
  if (rag === null || rag === undefined) return undefined;
  if (rag === true) return { bounds: {} };
  if (rag === false) return { policy: "off", bounds: {} };
  return {
    ...withoutNulls({
      policy: rag.policy,
      contextWindow: rag.context_window,
      stores: rag.vector_store_ids,
      filter: rag.filters && toFilter(rag.filters, "rag.filters"),
    }),
    bounds: withoutNulls({ limit: rag.limit, scoreThreshold: rag.score_threshold }),
  };
}
