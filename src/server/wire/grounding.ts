/** The request field `rag`, and the retrieval report of a grounded answer. */
import { type Static, Type as T } from "@sinclair/typebox";
import { type RagRequest, ragPolicies } from "../../core/chat/grounding.ts";
import type { Scope } from "../../core/limits/api-key.ts";
import type { FoundPassage } from "../../core/retrieval/search.ts";
import { Filter, StoreReferences, toFilter } from "./attributes.ts";
import { count, nullable, openObject, optional, orNull, withoutNulls } from "./fields.ts";

export const ragField = nullable(
  T.Union(
    [
      T.Boolean(),
      T.Literal("auto"),
      openObject({
        auto: optional(T.Boolean(), 'As `rag: "auto"`.'),
        policy: optional(
          T.Union(ragPolicies.map((policy) => T.Literal(policy))),
          "Where passages go. Default: the node's.",
        ),
        limit: optional(
          T.Integer({ minimum: 1 }),
          "Most passages; narrows the node's `rag.limit`.",
        ),
        score_threshold: optional(
          T.Number({ minimum: -1, maximum: 1 }),
          "Least score of a passage; narrows the node's `rag.score_threshold`.",
        ),
        context_window: optional(
          T.Integer({ minimum: 1, maximum: 100 }),
          "How many of the last user messages make the question; more than the node's is rejected.",
        ),
        vector_store_ids: nullable(
          StoreReferences,
          "Ids or names of vector stores, searched as one in the place of the node's collection.",
        ),
        filters: nullable(Filter),
      }),
    ],
    {
      "x-expected":
        'true, false, "auto" or {auto, policy, limit, score_threshold, context_window, vector_store_ids, filters}',
    },
  ),
  "Whether the answer is grounded in the node's collection; the answer's `retrieval` says in what. `true`: as the node does it, or into the last user message where it does not. `auto`: only with passages that clearly match (the node's `rag.auto_threshold`, and at most 0.05 below the best); without any the answer is as without this field. An extension.",
);

export type RagField = Static<typeof ragField> | undefined;

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

export const PointMetadata = T.Object({
  id: T.String(),
  document: orNull(T.String(), {
    description: "What it was taken from; null where the collection does not say.",
  }),
  heading: orNull(T.String(), { description: "The headings above it." }),
  position: count("Its place in the document, from 0."),
  // Missing in conversations that the page stored before this field existed.
  file_id: nullable(T.String(), "The document as a file of its vector store."),
  vector_store_id: nullable(
    T.String(),
    "The vector store, which is the collection, that it is in.",
  ),
});

export const RetrievalReport = T.Object(
  {
    points: T.Array(
      T.Object({
        source: T.String({ description: "The passage's text." }),
        score: T.Number({ description: "Its similarity to the question, -1 to 1." }),
        metadata: PointMetadata,
      }),
      {
        description:
          "The passages in the prompt, in the order of their markers [1], [2], …: those of earlier turns, then this turn's in descending score.",
      },
    ),
    dropped: count(
      "Passages that matched and are not in the prompt: another one contains them, or they do not fit the context.",
    ),
    carried: optional(
      T.Integer({ minimum: 1 }),
      "How many of them, from the first, are of earlier turns.",
    ),
    error: optional(T.String(), "Why retrieval failed, where it did."),
    notice: optional(
      T.String(),
      "What was done to the question: its end was matched where it is too long, or the user message before was taken along; and that passages are still being stored.",
    ),
  },
  { description: "What the answer is grounded in; absent where it is not." },
);

export type RetrievalReport = Static<typeof RetrievalReport>;

export function toPointMetadata(passage: FoundPassage): Static<typeof PointMetadata> {
  const { id, document, heading, position, file, store } = passage;
  return {
    id,
    document: textOrNull(document),
    heading: textOrNull(heading),
    position,
    file_id: textOrNull(file),
    vector_store_id: textOrNull(store),
  };
}

const textOrNull = (text: string): string | null => (text === "" ? null : text);
