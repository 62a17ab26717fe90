/** /v1/vector_stores and /v1/vector_stores/{id}/search */
import type { StoreFileService } from "../../../core/documents/store-file-service.ts";
import type { StoreSearchService } from "../../../core/documents/store-search.ts";
import type { VectorStoreService } from "../../../core/documents/vector-store-service.ts";
import { storeErrors } from "../../openapi.ts";
import { defineOperation, described, namedSchema } from "../../operation.ts";
import { deletedAnswer, pageAnswer, toPage, toPageRequest } from "../../wire/page-schema.ts";
import {
  VectorStore,
  VectorStoreQuery,
  VectorStoreRequest,
  VectorStoreSearchRequest,
  VectorStoreSearchResult,
  VectorStoreUpdate,
} from "./schema.ts";
import {
  toAddedFiles,
  toNewStore,
  toSearchResult,
  toStoreChange,
  toStoreQuestion,
  toVectorStore,
} from "./wire.ts";

type Needs = { stores: VectorStoreService };

const example: VectorStore = {
  id: "vs_handbook",
  object: "vector_store",
  created_at: 1794700800,
  name: "handbook",
  description: null,
  usage_bytes: 412_160,
  file_counts: { in_progress: 0, completed: 12, failed: 0, cancelled: 0, total: 12 },
  status: "completed",
  expires_after: null,
  expires_at: null,
  last_active_at: 1794700800,
  metadata: {},
  collection: "handbook",
};

const about = {
  name: "vector_stores",
  tag: "Vector stores",
  scope: "documents",
  errors: storeErrors,
} as const;
const one = { ...about, parameters: { vector_store_id: "The vector store's id." } } as const;
const storeAnswer = described({ VectorStore }, "The vector store.", example);

export const vectorStoreOperations = [
  defineOperation({
    ...about,
    route: "POST /v1/vector_stores",
    operationId: "createVectorStore",
    summary: "Create a vector store",
    description: "Creates a collection for files. Its first files are ingested in the background.",
    body: {
      ...namedSchema({ VectorStoreRequest }),
      example: { name: "handbook", metadata: { team: "support" } },
      logged: ({ name }) => ({ name }),
    },
    answer: storeAnswer,
    handler: async (
      { body },
      { authenticated: caller },
      { stores, storeFiles }: Needs & { storeFiles: StoreFileService },
    ) => {
      const added = toAddedFiles(body);
      await storeFiles.check(caller, added);
      const store = await stores.create(caller, toNewStore(body));
      if (added.length > 0) await storeFiles.add(caller, store, added);
      return { json: toVectorStore(await stores.view(store)) };
    },
  }),
  defineOperation({
    ...about,
    route: "GET /v1/vector_stores",
    operationId: "listVectorStores",
    summary: "List the vector stores",
    description: "Includes the node's own collection and those of the command line.",
    query: VectorStoreQuery,
    answer: pageAnswer("VectorStoreList", VectorStore, "vector stores", example),
    handler: async ({ query }, { authenticated: caller }, { stores }: Needs) => {
      const page = await stores.list(caller, toPageRequest(query));
      return { json: toPage(page, toVectorStore) };
    },
  }),
  defineOperation({
    ...one,
    route: "GET /v1/vector_stores/:vector_store_id",
    operationId: "getVectorStore",
    summary: "Describe a vector store",
    answer: storeAnswer,
    handler: async ({ parameters }, { authenticated: caller }, { stores }: Needs) => ({
      json: toVectorStore(await stores.get(caller, parameters.vector_store_id)),
    }),
  }),
  defineOperation({
    ...one,
    route: "POST /v1/vector_stores/:vector_store_id",
    operationId: "updateVectorStore",
    summary: "Change a vector store",
    body: {
      ...namedSchema({ VectorStoreUpdate }),
      example: { name: "Handbook", expires_after: { anchor: "last_active_at", days: 30 } },
      logged: ({ name }) => ({ name }),
    },
    answer: storeAnswer,
    handler: async ({ body, parameters }, { authenticated: caller }, { stores }: Needs) => {
      const { vector_store_id: id } = parameters;
      return { json: toVectorStore(await stores.update(caller, id, toStoreChange(body))) };
    },
  }),
  defineOperation({
    ...one,
    route: "DELETE /v1/vector_stores/:vector_store_id",
    operationId: "deleteVectorStore",
    summary: "Delete a vector store",
    description:
      "Deletes it with its passages; the uploaded files stay. The node's own collection cannot be deleted.",
    answer: deletedAnswer("VectorStoreDeleted", "vector_store.deleted", example.id),
    handler: async ({ parameters }, { authenticated: caller }, { stores }: Needs) => {
      const { vector_store_id: id } = parameters;
      await stores.delete(caller, id);
      return { json: { id, object: "vector_store.deleted", deleted: true } };
    },
  }),
  defineOperation({
    parameters: one.parameters,
    name: "vector_store_search",
    genAiName: "retrieval",
    route: "POST /v1/vector_stores/:vector_store_id/search",
    operationId: "searchVectorStore",
    summary: "Search a vector store",
    description: "Finds the passages that match a question, in files that match the filters.",
    tag: "Vector stores",
    scope: "retrieve",
    body: {
      ...namedSchema({ VectorStoreSearchRequest }),
      example: {
        query: "How do I add an API key?",
        filters: { type: "eq", key: "language", value: "en" },
        max_num_results: 5,
      },
      logged: ({ query }) => ({ query }),
    },
    answer: described({ VectorStoreSearchResult }, "The passages, best first.", {
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
    }),
    errors: { ...storeErrors, 504: "The answer took longer than the node allows." },
    handler: async (
      { body, parameters },
      context,
      { storeSearch }: { storeSearch: StoreSearchService },
    ) => {
      const { vector_store_id: id } = parameters;
      const { engineCall, authenticated: caller } = context;
      const question = toStoreQuestion(body);
      const found = await storeSearch.search(caller, id, question, engineCall);
      context.loggedAnswer = () => ({ texts: found.map(({ source }) => source) });
      return { json: toSearchResult(question, found) };
    },
  }),
] as const;
