/** Reranking: documents of a request in the order of how well they fit its query. */
import { NodeError } from "../errors.ts";
import { given } from "../given.ts";
import type { ModelRegistry } from "../models/model-registry.ts";
import type { RankOptions } from "../ports/reranker.ts";

export interface RerankRequest {
  model: string;
  query: string;
  documents: readonly string[];
  /** How many of the best are returned; absent: all. */
  topN?: number;
  /** Most tokens of a document that are read; absent: all of them. */
  maxDocumentTokens?: number;
}

export interface RankedDocument {
  /** Its place in the request. */
  index: number;
  /** 0 to 1. */
  score: number;
}

/** Tokens that the documents of a request may come to, the query counted beside each of them. */
const mostRequestTokens = 600_000;

export class RerankService {
  readonly #models: ModelRegistry;

  constructor(models: ModelRegistry) {
    this.#models = models;
  }

  /** The best first; of equal ones the first in the request. */
  async rank(
    { model, query, documents, topN, maxDocumentTokens }: RerankRequest,
    { signal, report }: Pick<RankOptions, "signal" | "report">,
  ): Promise<{ model: string; ranked: RankedDocument[]; tokens: number }> {
    const { card, engine } = this.#models.reranker(model);
    if (query.trim() === "") {
      throw new NodeError(
        "invalid_request",
        "'query' is empty; say what the documents are to fit.",
        { param: "query" },
      );
    }
    const { scores, tokens } = await engine.rank(query, documents, {
      signal,
      maxTokens: mostRequestTokens,
      ...given({ report, maxPassageTokens: maxDocumentTokens }),
    });
    const ranked = scores
      .map((score, index) => ({ index, score }))
      .sort((a, b) => b.score - a.score)
      .slice(0, topN);
    return { model: card.name, ranked, tokens };
  }
}
