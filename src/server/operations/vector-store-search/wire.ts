/** A search in a vector store, between the wire and the domain. */
import type { FoundInFile, StoreQuestion } from "../../../core/documents/store-search-service.ts";
import { NodeError } from "../../../core/errors.ts";
import { given } from "../../../core/given.ts";
import { toFilter } from "../../wire/filter.ts";
import type { VectorStoreSearchRequest, VectorStoreSearchResult } from "./schema.ts";

const usualResults = 10;

export function toStoreQuestion(body: VectorStoreSearchRequest): StoreQuestion {
  const { query, filters, max_num_results: limit, ranking_options: ranking } = body;
  if (body.rewrite_query === true) {
    throw new NodeError(
      "invalid_request",
      "'rewrite_query' cannot be honoured: this node searches for what was asked. Leave it out, or send false.",
      { param: "rewrite_query" },
    );
  }
  const isList = Array.isArray(query);
  return {
    queries: isList ? query : [query],
    fieldOf: (index) => (isList ? `query[${index}]` : "query"),
    bounds: { limit: limit ?? usualResults, scoreThreshold: ranking?.score_threshold ?? 0 },
    isReranked: ranking?.ranker !== "none",
    ...given({ filter: filters ? toFilter(filters, "filters") : undefined }),
  };
}

export const toSearchResult = (
  { queries }: StoreQuestion,
  found: readonly FoundInFile[],
): VectorStoreSearchResult => ({
  object: "vector_store.search_results.page",
  search_query: [...queries],
  data: found.map(({ file, document, score, attributes, source }) => ({
    file_id: file,
    filename: document,
    score,
    attributes: { ...attributes },
    content: [{ type: "text", text: source }],
  })),
  has_more: false,
  next_page: null,
});
