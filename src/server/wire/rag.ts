/** The field that says how an answer is grounded. */
import { type Static, Type as T } from "@sinclair/typebox";
import { type RagRequest, ragPolicies } from "../../core/chat/rag.ts";
import type { Scope } from "../../core/limits/api-key.ts";
import { Filter, StoreReferences, toFilter } from "./attributes.ts";
import { nullable, open } from "./fields.ts";
import { withoutNulls } from "./without-nulls.ts";

export const ragField = nullable(
  T.Union(
    [
      T.Boolean(),
      T.Literal("auto"),
      T.Object(
        {
          auto: T.Optional(T.Boolean({ description: 'As `rag: "auto"`.' })),
          policy: T.Optional(
            T.Union(
              ragPolicies.map((policy) => T.Literal(policy)),
              { description: "Where passages go. Default: the node's." },
            ),
          ),
          limit: T.Optional(
            T.Integer({
              minimum: 1,
              description: "Most passages; narrows the node's `rag.limit`.",
            }),
          ),
          score_threshold: T.Optional(
            T.Number({
              minimum: -1,
              maximum: 1,
              description: "Least score of a passage; narrows the node's `rag.score_threshold`.",
            }),
          ),
          context_window: T.Optional(
            T.Integer({
              minimum: 1,
              maximum: 100,
              description:
                "How many of the last user messages make the question; more than the node's is rejected.",
            }),
          ),
          vector_store_ids: nullable(
            StoreReferences,
            "Ids or names of vector stores, searched as one in the place of the node's collection.",
          ),
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
  "Whether the answer is grounded in the node's collection; the answer's `retrieval` says in what. `true`: as the node does it, or into the last user message where it does not. `auto`: only with passages that clearly match (the node's `rag.auto_threshold`, and at most 0.05 below the best); without any the answer is as without this field. An extension.",
);

export type RagField = Static<typeof ragField> | undefined;

// What a request says of grounding, as the domain has it; apart from its schema, whose types the page reads.

/** A caller that asks for passages needs the scope for them. */
export const scopesOfRag = (rag: RagField): readonly Scope[] =>
  rag === undefined || rag === null || rag === false ? [] : ["retrieve"];

export function toRag(rag: RagField): RagRequest | undefined {
  if (rag === null || rag === undefined) return undefined;
  if (rag === true) return { bounds: {} };
  if (rag === false) return { policy: "off", bounds: {} };
  if (rag === "auto") return { auto: true, bounds: {} };
  return {
    ...withoutNulls({
      policy: rag.policy,
      auto: rag.auto,
      contextWindow: rag.context_window,
      stores: rag.vector_store_ids,
      filter: rag.filters && toFilter(rag.filters, "rag.filters"),
    }),
    bounds: withoutNulls({ limit: rag.limit, scoreThreshold: rag.score_threshold }),
  };
}
