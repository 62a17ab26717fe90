/** /v1/vector_stores/{id}/files and /v1/vector_stores/{id}/file_batches */
import type { StoreAccess } from "../../../core/documents/store-access.ts";
import type { StoreFileService } from "../../../core/documents/store-file-service.ts";
import { given } from "../../../core/given.ts";
import { storeErrors } from "../../openapi.ts";
import { defineOperation, described, namedSchema } from "../../operation.ts";
import { checkedPairs } from "../../wire/attributes.ts";
import {
  deletedAnswer,
  pageAnswer,
  tellWhenToPoll,
  toPage,
  toPageRequest,
} from "../../wire/page-schema.ts";
import {
  ContentQuery,
  FileBatch,
  FileBatchRequest,
  mostTexts,
  VectorStoreFile,
  VectorStoreFileContent,
  VectorStoreFileQuery,
  VectorStoreFileRequest,
  VectorStoreFileUpdate,
} from "./schema.ts";
import {
  toAddedFile,
  toBatchFiles,
  toContentPage,
  toFileBatch,
  toVectorStoreFile,
} from "./wire.ts";

type Needs = { storeFiles: StoreFileService };

const fileExample: VectorStoreFile = {
  id: "file-8f3b1c6e2a904d7fb5e01c22",
  object: "vector_store.file",
  created_at: 1794700800,
  vector_store_id: "vs_handbook",
  filename: "manual.pdf",
  status: "completed",
  last_error: null,
  usage_bytes: 41_216,
  passages: 19,
  attributes: { language: "en", year: 2026 },
  chunking_strategy: {
    type: "static",
    static: { max_chunk_size_tokens: 256, chunk_overlap_tokens: 32 },
  },
};

const path = "/v1/vector_stores/:vector_store_id";
const about = {
  name: "vector_stores",
  tag: "Vector stores",
  scope: "documents",
  parameters: { vector_store_id: "The vector store's id." },
  errors: storeErrors,
} as const;
const one = { ...about, parameters: { ...about.parameters, file_id: "The file's id." } };
const fileAnswer = described({ VectorStoreFile }, "The file in its vector store.", fileExample);

const batchExample: FileBatch = {
  id: "vsfb_5d0c3a7e9b124f6d8a01c2e3",
  object: "vector_store.files_batch",
  created_at: 1794700800,
  vector_store_id: "vs_handbook",
  status: "in_progress",
  file_counts: { in_progress: 1, completed: 1, failed: 0, cancelled: 0, total: 2 },
};

const oneBatch = { ...about, parameters: { ...about.parameters, batch_id: "The batch's id." } };
const batchAnswer = described({ FileBatch }, "The batch and its progress.", batchExample);

export const vectorStoreFileOperations = [
  defineOperation({
    ...about,
    route: `POST ${path}/files`,
    operationId: "addVectorStoreFile",
    summary: "Add a file to a vector store",
    description:
      "Ingests an uploaded file in the background: its status is `in_progress`, then `completed`, or `failed` with the reason. Searches find it once it is complete. A file that is already in the store stays, with the new attributes.",
    body: {
      ...namedSchema({ VectorStoreFileRequest }),
      example: { file_id: fileExample.id, attributes: { language: "en", year: 2026 } },
      logged: ({ file_id }) => ({ file_id }),
    },
    answer: fileAnswer,
    handler: async (
      { body, parameters },
      { authenticated: caller },
      { storeFiles, storeAccess }: Needs & { storeAccess: StoreAccess },
    ) => {
      const found = await storeAccess.use(caller, parameters.vector_store_id);
      const [added] = await storeFiles.add(caller, found, [toAddedFile(body)]);
      if (added === undefined) throw new Error("A file was added and is not there");
      return { json: toVectorStoreFile(added) };
    },
  }),
  defineOperation({
    ...about,
    route: `GET ${path}/files`,
    operationId: "listVectorStoreFiles",
    summary: "List a vector store's files",
    description: "Includes documents that the command line ingested.",
    query: VectorStoreFileQuery,
    answer: pageAnswer("VectorStoreFileList", VectorStoreFile, "files", fileExample),
    handler: async ({ query, parameters }, { authenticated: caller }, { storeFiles }: Needs) => {
      const { vector_store_id: id } = parameters;
      const status = given({ status: query.filter });
      const listed = await storeFiles.list(caller, id, toPageRequest(query), status);
      return { json: toPage(listed, toVectorStoreFile) };
    },
  }),
  defineOperation({
    ...one,
    route: `GET ${path}/files/:file_id`,
    operationId: "getVectorStoreFile",
    summary: "Describe a file of a vector store",
    answer: fileAnswer,
    handler: async ({ parameters }, context, { storeFiles }: Needs) => {
      const { vector_store_id: id, file_id: file } = parameters;
      const found = await storeFiles.get(context.authenticated, id, file);
      tellWhenToPoll(found.status, context);
      return { json: toVectorStoreFile(found) };
    },
  }),
  defineOperation({
    ...one,
    route: `POST ${path}/files/:file_id`,
    operationId: "updateVectorStoreFile",
    summary: "Change a file's attributes",
    body: {
      ...namedSchema({ VectorStoreFileUpdate }),
      example: { attributes: { language: "de" } },
      logged: () => ({}),
    },
    answer: fileAnswer,
    handler: async ({ body, parameters }, { authenticated: caller }, { storeFiles }: Needs) => {
      const { vector_store_id: id, file_id: file } = parameters;
      const attributes = checkedPairs(body.attributes ?? {}, "attributes");
      const changed = await storeFiles.changeAttributes(caller, id, file, attributes);
      return { json: toVectorStoreFile(changed) };
    },
  }),
  defineOperation({
    ...one,
    route: `GET ${path}/files/:file_id/content`,
    operationId: "getVectorStoreFileContent",
    summary: "Read a file's passages",
    query: ContentQuery,
    answer: described({ VectorStoreFileContent }, "The file's passages.", {
      object: "vector_store.file_content.page",
      data: [{ type: "text", text: "Keys\n\nSet PADDOCK_API_KEYS to one or more keys." }],
      has_more: false,
      next_page: null,
    }),
    handler: async ({ query, parameters }, { authenticated: caller }, { storeFiles }: Needs) => {
      const { vector_store_id: id, file_id: file } = parameters;
      const { page: from = 0, limit = mostTexts } = query;
      const { texts, hasMore } = await storeFiles.content(caller, id, file, { from, limit });
      return { json: toContentPage(texts, hasMore) };
    },
  }),
  defineOperation({
    ...one,
    route: `DELETE ${path}/files/:file_id`,
    operationId: "removeVectorStoreFile",
    summary: "Remove a file from a vector store",
    description: "Searches no longer find it. The uploaded file stays.",
    answer: deletedAnswer(
      "VectorStoreFileDeleted",
      "vector_store.file.deleted",
      fileExample.id,
      "It is removed from the store.",
    ),
    handler: async ({ parameters }, { authenticated: caller }, { storeFiles }: Needs) => {
      const { vector_store_id: store, file_id: id } = parameters;
      await storeFiles.remove(caller, store, id);
      return { json: { id, object: "vector_store.file.deleted", deleted: true } };
    },
  }),
  defineOperation({
    ...about,
    route: `POST ${path}/file_batches`,
    operationId: "createFileBatch",
    summary: "Add several files to a vector store",
    description: "Ingests them in the background; all are added, or none.",
    body: {
      ...namedSchema({ FileBatchRequest }),
      example: { file_ids: [fileExample.id], attributes: { language: "en" } },
      logged: () => ({}),
    },
    answer: batchAnswer,
    handler: async ({ body, parameters }, { authenticated: caller }, { storeFiles }: Needs) => {
      const { vector_store_id: id } = parameters;
      return { json: toFileBatch(await storeFiles.addBatch(caller, id, toBatchFiles(body))) };
    },
  }),
  defineOperation({
    ...oneBatch,
    route: `GET ${path}/file_batches/:batch_id`,
    operationId: "getFileBatch",
    summary: "Describe a batch",
    answer: batchAnswer,
    handler: async ({ parameters }, context, { storeFiles }: Needs) => {
      const { vector_store_id: store, batch_id: id } = parameters;
      const found = await storeFiles.batch(context.authenticated, store, id);
      tellWhenToPoll(found.status, context);
      return { json: toFileBatch(found) };
    },
  }),
  defineOperation({
    ...oneBatch,
    route: `POST ${path}/file_batches/:batch_id/cancel`,
    operationId: "cancelFileBatch",
    summary: "Cancel a batch",
    description: "Files that are not ingested yet are left out, with the status `cancelled`.",
    answer: batchAnswer,
    handler: async ({ parameters }, { authenticated: caller }, { storeFiles }: Needs) => {
      const { vector_store_id: store, batch_id: id } = parameters;
      return { json: toFileBatch(await storeFiles.cancelBatch(caller, store, id)) };
    },
  }),
  defineOperation({
    ...oneBatch,
    route: `GET ${path}/file_batches/:batch_id/files`,
    operationId: "listFileBatchFiles",
    summary: "List a batch's files",
    query: VectorStoreFileQuery,
    answer: pageAnswer("VectorStoreFileList", VectorStoreFile, "files", fileExample),
    handler: async ({ query, parameters }, { authenticated: caller }, { storeFiles }: Needs) => {
      const { vector_store_id: store, batch_id: id } = parameters;
      const page = toPageRequest(query);
      const listed = await storeFiles.batchFiles(caller, store, id, page, query.filter);
      return { json: toPage(listed, toVectorStoreFile) };
    },
  }),
] as const;
