/** POST /v1/vector_stores/{id}/search */
import type { StoreSearchService } from "../../../core/documents/store-search-service.ts";
import { defineOperation } from "../../define-operation.ts";
import { documentBodyErrors } from "../../openapi.ts";
import { tags } from "../../operation.ts";
import { VectorStoreSearchRequest, VectorStoreSearchResult } from "./schema.ts";
import { toSearchResult, toStoreQuestion } from "./wire.ts";

export const searchVectorStore = defineOperation({
  method: "POST",
  path: "/v1/vector_stores/:vector_store_id/search",
  name: "vector_store_search",
  genAiName: "retrieval",
  operationId: "searchVectorStore",
  summary: "Search a vector store",
  description:
    "Finds the passages that match a question, among the files that the filters let through.",
  tag: tags.vectorStores,
  scope: "retrieve",
  parameters: { vector_store_id: "The vector store's id." },
  body: {
    name: "VectorStoreSearchRequest",
    schema: VectorStoreSearchRequest,
    example: {
      query: "How do I add an API key?",
      filters: { type: "eq", key: "language", value: "en" },
      max_num_results: 5,
    },
    logged: ({ query }) => ({ query }),
  },
  answer: {
    name: "VectorStoreSearchResult",
    schema: VectorStoreSearchResult,
    description: "The passages, best first.",
    example: {
      object: "vector_store.search_results.page",
      search_query: ["How do I add an API key?"],
      data: [
        {
          file_id: "file-8f3b1c6e2a904d7fb5e01c22",
          filename: "manual.pdf",
          score: 0.71,
          attributes: { language: "en", year: 2026 },
          content: [{ type: "text", text: "Keys\n\nSet PADDOCK_API_KEYS to one or more keys." }],
        },
      ],
      has_more: false,
      next_page: null,
    },
  },
  errors: { ...documentBodyErrors, 504: "The answer took longer than the node allows." },
  handler: async (
    { body, parameters },
    context,
    { storeSearch }: { storeSearch: StoreSearchService },
  ) => {
    const { signal, report, authenticated: caller } = context;
    const question = toStoreQuestion(body);
    const id = parameters.vector_store_id ?? "";
    const found = await storeSearch.search(caller, id, question, { signal, report });
    context.loggedAnswer = () => ({ texts: found.map(({ source }) => source) });
    return { json: toSearchResult(question, found) };
  },
});
