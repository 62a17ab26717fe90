/** Reranks documents by their relevance to a query. */
import { NodeError } from "../errors.ts";
import { given } from "../given.ts";
import type { ModelRegistry } from "../models/model-registry.ts";
import type { EngineCall } from "../ports/telemetry.ts";

export interface RerankRequest {
  model: string;
  query: string;
  documents: readonly string[];
  topN?: number;
  /** Most tokens of a document that are read; absent: all of them. */
  maxDocumentTokens?: number;
}

export interface RankedDocument {
  index: number;
  score: number;
}

/** Most tokens of a request's documents, with the query counted once per document. */
const mostRequestTokens = 600_000;

/** The best first; equal ones in the order of the request. */
export async function rankDocuments(
  models: ModelRegistry,
  { model, query, documents, topN, maxDocumentTokens }: RerankRequest,
  call: EngineCall,
): Promise<{ model: string; ranked: RankedDocument[]; tokens: number }> {
  const { card, engine } = models.reranker(model);
  if (query.trim() === "") {
    const why = "'query' is empty; say what the documents are to fit.";
    throw new NodeError("invalid_request", why, { param: "query" });
  }
  const { scores, tokens } = await engine.rank(query, documents, {
    ...call,
    maxTokens: mostRequestTokens,
    ...given({ maxPassageTokens: maxDocumentTokens }),
  });
  const ranked = scores
    .map((score, index) => ({ index, score }))
    .sort((a, b) => b.score - a.score)
    .slice(0, topN);
  return { model: card.name, ranked, tokens };
}

/** A model's score from 0 to 1. */
export const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));

/** Most tokens of a question: the other half is for passages. */
export const mostQuestionTokens = (maxTokens: number): number => Math.floor(maxTokens / 2);

export const questionTooLong = (most: number): NodeError =>
  new NodeError(
    "context_length_exceeded",
    `'query' has more than ${most} tokens, which is what this reranking model takes, so that documents have room beside it. Shorten it.`,
    { param: "query" },
  );

/** `index`: of the document that exceeds the limit. */
export const tooMuchToRead = (index: number, most: number): NodeError =>
  new NodeError(
    "context_length_exceeded",
    `With 'documents[${index}]' the documents come to more than ${most} tokens, the query counted beside each of them, and beside each part of one that is longer than the model reads at once. Send fewer, or cut them with 'max_tokens_per_doc'.`,
    { param: `documents[${index}]` },
  );
