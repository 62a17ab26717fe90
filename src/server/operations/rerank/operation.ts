/** POST /v1/rerank and POST /v2/rerank */
import { Type as T } from "@sinclair/typebox";
import { given } from "../../../core/given.ts";
import type { ModelRegistry } from "../../../core/models/model-registry.ts";
import {
  type RerankRequest as DomainRequest,
  type RankedDocument,
  rankDocuments,
} from "../../../core/reranking/rerank-service.ts";
import { type ErrorFormat, errorBody } from "../../middleware/errors.ts";
import { modelErrors } from "../../openapi.ts";
import { defineOperation, type Handler, namedSchema, tags } from "../../operation.ts";
import { ErrorAnswer } from "../../wire/fields.ts";
import { RerankRequest, RerankResult } from "./schema.ts";

const example: RerankRequest = {
  model: "bge-reranker",
  query: "What is the capital of France?",
  documents: ["Paris is the capital of France.", "Bread is made of flour."],
  top_n: 1,
};

const declared = {
  method: "POST",
  name: "rerank",
  tag: tags.embeddings,
  scope: "embeddings",
  body: {
    ...namedSchema({ RerankRequest }),
    example,
    lists: [{ param: "documents", limit: "maxInputs" }],
    logged: ({ model, query, documents }: RerankRequest) => ({ model, query, documents }),
  },
  answer: {
    ...namedSchema({ RerankResult }),
    description: "The documents' places and scores, best first.",
    example: {
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
    },
  },
  errors: modelErrors,
} as const;

/** `repeats`: the default of `return_documents`. */
const rerankDocuments =
  (repeats: boolean): Handler<RerankRequest, { models: ModelRegistry }> =>
  async ({ body }, context, { models }) => {
    const { id, signal, report } = context;
    const request = toRerankRequest(body);
    const { model, ranked, tokens } = await rankDocuments(models, request, { signal, report });
    context.loggedAnswer = () => ({ ranked, tokens });
    const documents = (body.return_documents ?? repeats) ? request.documents : undefined;
    const answer = { id: `rerank-${id}`, model, ranked, tokens, ...given({ documents }) };
    return { text: await toRerankResultJson(answer), contentType: "application/json" };
  };

/** Errors for Cohere's clients: a top-level `message`, next to the usual `error`. */
const cohereErrors: ErrorFormat = {
  name: "CohereError",
  schema: T.Object(
    {
      id: T.String({ description: "Of the request." }),
      message: T.String({ description: "What happened and what to do, for a person." }),
      error: ErrorAnswer.properties.error,
    },
    { description: "What went wrong." },
  ),
  body: (error, { message, requestId }) => ({ id: requestId, message, ...errorBody(error) }),
};

const rerank = defineOperation({
  ...declared,
  path: "/v1/rerank",
  operationId: "rerank",
  summary: "Rank documents by how well they fit a query",
  description:
    "A reranking model reads each document together with the query. As Jina, vLLM and llama-server have it; scores are probabilities.",
  handler: rerankDocuments(true),
});

/** Cohere's clients use only this address. */
const rerankAtCohere = defineOperation({
  ...declared,
  path: "/v2/rerank",
  operationId: "rerankV2",
  summary: "The same at the address of Cohere's clients",
  description:
    "As `/v1/rerank`; documents are repeated only where the request says so, and errors have their `message` on top too.",
  errorFormat: cohereErrors,
  errors: modelErrors,
  handler: rerankDocuments(false),
});

export const rerankOperations = [rerank, rerankAtCohere] as const;

function toRerankRequest(body: RerankRequest): DomainRequest {
  const { model, query, documents, top_n: topN, max_tokens_per_doc: most } = body;
  return {
    model,
    query,
    documents: documents.map(toText),
    // 0 means all, as in vLLM.
    ...given({ topN: topN || undefined, maxDocumentTokens: most ?? undefined }),
  };
}

const toText = (document: RerankRequest["documents"][number]): string =>
  typeof document === "string" ? document : document.text;

interface Ranked {
  id: string;
  model: string;
  ranked: readonly RankedDocument[];
  tokens: number;
  /** The texts to repeat; absent: none. */
  documents?: readonly string[];
}

/** Characters serialized before other requests get a turn: a few milliseconds. */
const sliceLength = 1_000_000;

/** A `RerankResult` as JSON, in steps: serializing megabytes of documents at once takes long. */
async function toRerankResultJson(ranking: Ranked): Promise<string> {
  const { id, model, ranked, tokens, documents } = ranking;
  const items: string[] = [];
  let written = 0;
  for (const { index, score: relevance_score } of ranked) {
    const text = documents?.[index];
    const document = text === undefined ? {} : { document: { text } };
    items.push(JSON.stringify({ index, relevance_score, ...document } satisfies Item));
    written += text?.length ?? 0;
    if (written < sliceLength) continue;
    written = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
  const head = JSON.stringify({ id, object: "list", model } satisfies Head);
  const tail = JSON.stringify({
    usage: { prompt_tokens: tokens, total_tokens: tokens },
    meta: { tokens: { input_tokens: tokens } },
  } satisfies Tail);
  return `${head.slice(0, -1)},"results":[${items.join(",")}],${tail.slice(1)}`;
}

type Item = RerankResult["results"][number];
type Tail = Pick<RerankResult, "usage" | "meta">;
type Head = Omit<RerankResult, "results" | keyof Tail>;
