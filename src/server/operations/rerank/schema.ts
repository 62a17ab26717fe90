/** Schemas of reranking, compatible with Jina, vLLM and Cohere. */
import { type Static, Type as T } from "@sinclair/typebox";
import { accepted, count, ignored, nullable, openObject, rejected } from "../../wire/fields.ts";

const Document = T.Union(
  [T.String(), openObject({ text: T.String({ description: "The text." }) })],
  {
    "x-expected": "a string, or an object with a 'text'",
  },
);

/** vLLM's options that decide whether scores are probabilities. */
const activation = rejected("cannot be false: scores are probabilities here", {
  unless: (value) => value !== false,
  except: "`true`",
});

export const RerankRequest = openObject({
  model: T.String({ minLength: 1, description: "Name of a reranking model of this node." }),
  query: T.String({
    minLength: 1,
    description: "What the documents are to fit; at most half of the model's context.",
  }),
  documents: T.Array(Document, {
    minItems: 1,
    description:
      "The texts, or objects with a `text`; no more than the node takes: 2048 unless configured. One that is longer than the model reads at once is read in parts that overlap by half, and its best part counts. All together may come to 600,000 tokens, the query counted beside each.",
  }),
  top_n: nullable(count(), "How many of the best are answered with; absent or 0: all."),
  return_documents: nullable(
    T.Boolean(),
    "Whether the answer repeats the documents; default: at `/v1/rerank` it does, as Jina's and vLLM's do, at `/v2/rerank` not, as Cohere's.",
  ),
  max_tokens_per_doc: nullable(
    T.Integer({ minimum: 1 }),
    "Most tokens of a document that are read; what is behind them does not count. Default: all of it is read.",
  ),
  truncate_prompt_tokens: nullable(
    T.Literal(-1, { "x-expected": "-1; 'max_tokens_per_doc' cuts documents" }),
    "vLLM's: -1 cuts what does not fit, which is read in parts here.",
  ),
  truncation: accepted("What is too long is read in parts."),
  user: accepted("The answer does not depend on the caller."),
  use_activation: activation,
  activation,
  softmax: activation,
  return_embeddings: rejected(
    "cannot be true: reranking makes no vectors here; ask /v1/embeddings",
    { unless: (value) => value !== true, except: "`false`" },
  ),
  texts: rejected("is the name that Text Embeddings Inference has for them; send 'documents'"),
  top_k: rejected("is the name that others have for it; send 'top_n'"),
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
      index: count("The document's place in the request."),
      relevance_score: T.Number({
        description: "How well it fits, from 0 to 1: the probability that the model gives.",
      }),
      document: T.Optional(T.Object({ text: T.String() })),
    }),
    { description: "The best first." },
  ),
  usage: T.Object({
    prompt_tokens: count(
      "Tokens that the model read: the query counts once for each document, or part of one.",
    ),
    total_tokens: count(),
  }),
  meta: T.Object(
    { tokens: T.Object({ input_tokens: count() }) },
    { description: "The same count, where Cohere's clients look for it." },
  ),
});

export type RerankResult = Static<typeof RerankResult>;
