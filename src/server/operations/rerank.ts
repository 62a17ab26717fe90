/** POST /v1/rerank and POST /v2/rerank, compatible with Jina, vLLM and Cohere. */
import { type Static, Type as T } from "@sinclair/typebox";
import { given } from "../../core/given.ts";
import type { ModelRegistry } from "../../core/models/model-registry.ts";
import { rankDocuments } from "../../core/reranking/rerank-service.ts";
import { jsonWithList } from "../middleware/answer.ts";
import { type ErrorFormat, errorBody } from "../middleware/errors.ts";
import { modelErrors } from "../openapi.ts";
import { defineOperation, described, type Handler, namedSchema } from "../operation.ts";
import * as f from "../wire/fields.ts";

const Document = T.Union(
  [T.String(), f.openObject({ text: T.String({ description: "The text." }) })],
  { "x-expected": "a string, or an object with a 'text'" },
);

/** vLLM's options that decide whether scores are probabilities. */
const activation = f.rejected("cannot be false: scores are probabilities here", {
  unless: (value) => value !== false,
  except: "`true`",
});

export const RerankRequest = f.openObject({
  model: f.modelName("a reranking model"),
  query: { ...f.nonEmpty, description: "At most half of the model's context." },
  documents: T.Array(Document, {
    minItems: 1,
    description:
      "Texts, or objects with a `text`; at most `limits.max_inputs`, by default 2048. One that is longer than the model's context is read in parts that overlap by half, and its best part counts. At most 600,000 tokens in total, with the query counted for each document.",
  }),
  top_n: f.nullable(f.count(), "How many of the best to return; absent or 0: all."),
  return_documents: f.flag(
    "Whether to return the documents. Default: true at `/v1/rerank`, as in Jina and vLLM; false at `/v2/rerank`, as in Cohere.",
  ),
  max_tokens_per_doc: f.nullable(f.integer(1), "Most tokens to read of a document. Default: all."),
  truncate_prompt_tokens: f.nullable(
    T.Literal(-1, { "x-expected": "-1; 'max_tokens_per_doc' cuts documents" }),
    "vLLM's option to cut long documents, which are read in parts here.",
  ),
  truncation: f.accepted("Long documents are read in parts."),
  user: f.accepted("The answer does not depend on the caller."),
  use_activation: activation,
  activation,
  softmax: activation,
  return_embeddings: f.rejected(
    "cannot be true: reranking makes no vectors here; use /v1/embeddings",
    { unless: (value) => value !== true, except: "`false`" },
  ),
  texts: f.rejected("is the name in Text Embeddings Inference; send 'documents'"),
  top_k: f.rejected("is the name in other APIs; send 'top_n'"),
  rank_fields: f.rejected(
    "cannot be honoured: documents are texts here; join their fields yourself",
  ),
  max_chunks_per_doc: f.ignored("A long document is read in as many parts as it needs."),
  priority: f.ignored("Requests take turns."),
  mm_processor_kwargs: f.ignored("The models read text only."),
});

export type RerankRequest = Static<typeof RerankRequest>;

export const RerankResult = T.Object({
  id: T.String({ description: "Of the request." }),
  object: T.Literal("list"),
  model: T.String(),
  results: T.Array(
    T.Object({
      index: f.count("The document's index in the request."),
      relevance_score: T.Number({ description: "The model's probability that it fits, 0 to 1." }),
      document: T.Optional(T.Object({ text: T.String() })),
    }),
    { description: "Best first." },
  ),
  usage: T.Object({
    prompt_tokens: f.count("Tokens that the model read, with the query for each document or part."),
    total_tokens: f.count(),
  }),
  meta: T.Object(
    { tokens: T.Object({ input_tokens: f.count() }) },
    { description: "The same count, for Cohere's clients." },
  ),
});

export type RerankResult = Static<typeof RerankResult>;

const example: RerankRequest = {
  model: "bge-reranker",
  query: "What is the capital of France?",
  documents: ["Paris is the capital of France.", "Bread is made of flour."],
  top_n: 1,
};

const declared = {
  name: "rerank",
  tag: "Embeddings",
  scope: "embeddings",
  body: {
    ...namedSchema({ RerankRequest }),
    example,
    lists: [{ param: "documents", limit: "maxInputs" }],
    logged: ({ model, query, documents }: RerankRequest) => ({ model, query, documents }),
  },
  answer: described({ RerankResult }, "The documents' indices and scores, best first.", {
    id: "rerank-9f1c",
    object: "list",
    model: "bge-reranker",
    results: [
      {
        index: 0,
        relevance_score: 0.9873,
        document: { text: "Paris is the capital of France." },
      },
    ],
    usage: { prompt_tokens: 38, total_tokens: 38 },
    meta: { tokens: { input_tokens: 38 } },
  }),
  errors: modelErrors,
} as const;

/** `repeats`: the default of `return_documents`. */
const rerankDocuments =
  (repeats: boolean): Handler<RerankRequest, { models: ModelRegistry }> =>
  async ({ body }, context, { models }) => {
    const documents = body.documents.map((one) => (typeof one === "string" ? one : one.text));
    // 0 means all, as in vLLM.
    const bounds = {
      topN: body.top_n || undefined,
      maxDocumentTokens: body.max_tokens_per_doc ?? undefined,
    };
    const request = { model: body.model, query: body.query, documents, ...given(bounds) };
    const { model, ranked, tokens } = await rankDocuments(models, request, context.engineCall);
    context.loggedAnswer = () => ({ ranked, tokens });
    const isRepeated = body.return_documents ?? repeats;
    const results = ranked.values().map(({ index, score: relevance_score }) => {
      const document = isRepeated ? { document: { text: documents[index] ?? "" } } : {};
      return { index, relevance_score, ...document } satisfies RerankResult["results"][number];
    });
    const rest: Omit<RerankResult, "results"> = {
      id: `rerank-${context.id}`,
      object: "list",
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
      meta: { tokens: { input_tokens: tokens } },
    };
    return { text: jsonWithList(rest, "results", results) };
  };

/** Errors for Cohere's clients: a top-level `message`, next to the usual `error`. */
const cohereErrors: ErrorFormat = {
  name: "CohereError",
  schema: T.Object(
    {
      id: T.String({ description: "Of the request." }),
      message: T.String({ description: "What happened and what to do, for a person." }),
      error: f.ErrorAnswer.properties.error,
    },
    { description: "What went wrong." },
  ),
  body: (error, { message, requestId }) => ({ id: requestId, message, ...errorBody(error) }),
};

export const rerankOperations = [
  defineOperation({
    ...declared,
    route: "POST /v1/rerank",
    operationId: "rerank",
    summary: "Rank documents by how well they fit a query",
    description:
      "A reranking model reads each document with the query; scores are probabilities. Compatible with Jina, vLLM and llama-server.",
    handler: rerankDocuments(true),
  }),
  /** Cohere's clients use only this address. */
  defineOperation({
    ...declared,
    route: "POST /v2/rerank",
    operationId: "rerankV2",
    summary: "Rank documents, for Cohere's clients",
    description:
      "As `/v1/rerank`, but documents are returned only on request, and errors have a top-level `message`.",
    errorFormat: cohereErrors,
    errors: modelErrors,
    handler: rerankDocuments(false),
  }),
] as const;
