/** Schemas of reranking, compatible with Jina, vLLM and Cohere. */
import { type Static, Type as T } from "@sinclair/typebox";
import {
  accepted,
  count,
  flag,
  ignored,
  integer,
  modelName,
  nonEmpty,
  nullable,
  openObject,
  rejected,
} from "../../wire/fields.ts";

const Document = T.Union(
  [T.String(), openObject({ text: T.String({ description: "The text." }) })],
  { "x-expected": "a string, or an object with a 'text'" },
);

/** vLLM's options that decide whether scores are probabilities. */
const activation = rejected("cannot be false: scores are probabilities here", {
  unless: (value) => value !== false,
  except: "`true`",
});

export const RerankRequest = openObject({
  model: modelName("a reranking model"),
  query: { ...nonEmpty, description: "At most half of the model's context." },
  documents: T.Array(Document, {
    minItems: 1,
    description:
      "Texts, or objects with a `text`; at most `limits.max_inputs`, by default 2048. One that is longer than the model's context is read in parts that overlap by half, and its best part counts. At most 600,000 tokens in total, with the query counted for each document.",
  }),
  top_n: nullable(count(), "How many of the best to return; absent or 0: all."),
  return_documents: flag(
    "Whether to return the documents. Default: true at `/v1/rerank`, as in Jina and vLLM; false at `/v2/rerank`, as in Cohere.",
  ),
  max_tokens_per_doc: nullable(integer(1), "Most tokens to read of a document. Default: all."),
  truncate_prompt_tokens: nullable(
    T.Literal(-1, { "x-expected": "-1; 'max_tokens_per_doc' cuts documents" }),
    "vLLM's option to cut long documents, which are read in parts here.",
  ),
  truncation: accepted("Long documents are read in parts."),
  user: accepted("The answer does not depend on the caller."),
  use_activation: activation,
  activation,
  softmax: activation,
  return_embeddings: rejected(
    "cannot be true: reranking makes no vectors here; use /v1/embeddings",
    { unless: (value) => value !== true, except: "`false`" },
  ),
  texts: rejected("is the name in Text Embeddings Inference; send 'documents'"),
  top_k: rejected("is the name in other APIs; send 'top_n'"),
  rank_fields: rejected("cannot be honoured: documents are texts here; join their fields yourself"),
  max_chunks_per_doc: ignored("A long document is read in as many parts as it needs."),
  priority: ignored("Requests take turns."),
  mm_processor_kwargs: ignored("The models read text only."),
});

export type RerankRequest = Static<typeof RerankRequest>;

export const RerankResult = T.Object({
  id: T.String({ description: "Of the request." }),
  object: T.Literal("list"),
  model: T.String(),
  results: T.Array(
    T.Object({
      index: count("The document's index in the request."),
      relevance_score: T.Number({ description: "The model's probability that it fits, 0 to 1." }),
      document: T.Optional(T.Object({ text: T.String() })),
    }),
    { description: "Best first." },
  ),
  usage: T.Object({
    prompt_tokens: count("Tokens that the model read, with the query for each document or part."),
    total_tokens: count(),
  }),
  meta: T.Object(
    { tokens: T.Object({ input_tokens: count() }) },
    { description: "The same count, for Cohere's clients." },
  ),
});

export type RerankResult = Static<typeof RerankResult>;
