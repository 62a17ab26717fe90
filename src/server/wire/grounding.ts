/** The request field `rag`, and the retrieval report of a grounded answer. */
import { type Static, Type as T } from "@sinclair/typebox";
import { type RagRequest, ragPolicies } from "../../core/chat/rag.ts";
import type { Scope } from "../../core/limits/api-key.ts";
import type { FoundPassage } from "../../core/retrieval/search.ts";
import { Filter, StoreReferences, toFilter } from "./attributes.ts";
import * as f from "./fields.ts";

export const ragField = f.nullable(
  T.Union(
    [
      T.Boolean(),
      T.Literal("auto"),
      f.openObject({
        auto: f.optional(T.Boolean(), 'As `rag: "auto"`.'),
        policy: f.optional(f.oneOf(ragPolicies), "Where passages go. Default: the node's."),
        limit: f.optional(f.integer(1), "Most passages, within the node's `rag.limit`."),
        score_threshold: f.optional(
          f.number(-1, 1),
          "Least score of a passage, at least the node's `rag.score_threshold`.",
        ),
        context_window: f.optional(
          f.integer(1, 100),
          "How many of the last user messages make the question; more than the node's is rejected.",
        ),
        vector_store_ids: f.nullable(
          StoreReferences,
          "Ids or names of vector stores to search as one, instead of the node's collection.",
        ),
        filters: f.nullable(Filter),
      }),
    ],
    {
      "x-expected":
        'true, false, "auto" or {auto, policy, limit, score_threshold, context_window, vector_store_ids, filters}',
    },
  ),
  "Whether to ground the answer in the node's collection; the answer's `retrieval` has the passages. `true`: by the node's policy, or in the last user message if it has none. `auto`: only with passages that clearly match (at least `rag.auto_threshold`, and at most 0.05 below the best). An extension.",
);

type RagField = Static<typeof ragField> | undefined;

/** A caller that asks for passages needs the scope for them. */
export const scopesOfRag = (rag: RagField): readonly Scope[] =>
  rag === undefined || rag === null || rag === false ? [] : ["retrieve"];

export function toRag(rag: RagField): RagRequest | undefined {
  if (rag === null || rag === undefined) return undefined;
  if (rag === true) return { bounds: {} };
  if (rag === false) return { policy: "off", bounds: {} };
  if (rag === "auto") return { auto: true, bounds: {} };
  return {
    ...f.withoutNulls({
      policy: rag.policy,
      auto: rag.auto,
      contextWindow: rag.context_window,
      stores: rag.vector_store_ids,
      filter: rag.filters && toFilter(rag.filters, "rag.filters"),
    }),
    bounds: f.withoutNulls({ limit: rag.limit, scoreThreshold: rag.score_threshold }),
  };
}

export const PointMetadata = T.Object({
  id: T.String(),
  document: f.orNull(T.String(), { description: "Its document; null if unknown." }),
  heading: f.orNull(T.String(), { description: "The headings above it." }),
  position: f.count("Its index in the document, from 0."),
  // Missing in conversations that the page stored before this field existed.
  file_id: f.nullable(T.String(), "The document as a file of its vector store."),
  vector_store_id: f.nullable(T.String(), "The vector store it is in, which is the collection."),
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
          "The passages in the prompt, in the order of their markers [1], [2], …: those of earlier turns, then this turn's, best first.",
      },
    ),
    dropped: f.count(
      "Matching passages that another one contains, or that do not fit the context.",
    ),
    carried: f.optional(f.integer(1), "How many, from the first, are of earlier turns."),
    error: f.optional(T.String(), "Why retrieval failed, if it did."),
    notice: f.optional(
      T.String(),
      "How the question was changed (only the end of a long one is matched; a short one is joined with the user message before it), or that passages are still being stored.",
    ),
  },
  { description: "The passages that ground the answer; absent without grounding." },
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
