/** /v1/vector_stores/{id}/files and /v1/vector_stores/{id}/file_batches */
import type { StoreAccess } from "../../../core/documents/store-access.ts";
import type { StoreFileService } from "../../../core/documents/store-file-service.ts";
import { given } from "../../../core/given.ts";
import { documentErrors } from "../../openapi.ts";
import { defineOperation, namedSchema, tags } from "../../operation.ts";
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

const path = "/v1/vector_stores/:vector_store_id/files";
const about = {
  name: "vector_stores",
  tag: tags.vectorStores,
  scope: "documents",
  errors: documentErrors,
} as const;
const store = { vector_store_id: "The vector store's id." };
const all = { ...about, path, parameters: store } as const;
const one = {
  ...about,
  path: `${path}/:file_id`,
  parameters: { ...store, file_id: "The file's id." },
} as const;
const described = {
  ...namedSchema({ VectorStoreFile }),
  description: "The file in its vector store.",
  example: fileExample,
};

const addVectorStoreFile = defineOperation({
  ...all,
  method: "POST",
  operationId: "addVectorStoreFile",
  summary: "Add a file to a vector store",
  description:
    "Ingests an uploaded file in the background: its status is `in_progress`, then `completed`, or `failed` with the reason. Searches find it once it is complete. A file that is already in the store stays, with the new attributes.",
  body: {
    ...namedSchema({ VectorStoreFileRequest }),
    example: { file_id: fileExample.id, attributes: { language: "en", year: 2026 } },
    logged: ({ file_id }) => ({ file_id }),
  },
  answer: described,
  handler: async (
    { body, parameters },
    { authenticated: caller },
    { storeFiles, storeAccess }: Needs & { storeAccess: StoreAccess },
  ) => {
    const found = await storeAccess.use(caller, parameters.vector_store_id ?? "");
    const [added] = await storeFiles.add(caller, found, [toAddedFile(body)]);
    if (added === undefined) throw new Error("A file was added and is not there");
    return { json: toVectorStoreFile(added) };
  },
});

const listVectorStoreFiles = defineOperation({
  ...all,
  method: "GET",
  operationId: "listVectorStoreFiles",
  summary: "List a vector store's files",
  description: "Includes documents that the command line ingested.",
  query: VectorStoreFileQuery,
  answer: pageAnswer("VectorStoreFileList", VectorStoreFile, "files", fileExample),
  handler: async ({ query, parameters }, { authenticated: caller }, { storeFiles }: Needs) => {
    const { filter: status, ...page } = query;
    const listed = await storeFiles.list(
      caller,
      parameters.vector_store_id ?? "",
      toPageRequest(page),
      given({ status }),
    );
    return { json: toPage(listed, toVectorStoreFile) };
  },
});

const getVectorStoreFile = defineOperation({
  ...one,
  method: "GET",
  operationId: "getVectorStoreFile",
  summary: "Describe a file of a vector store",
  answer: described,
  handler: async ({ parameters }, context, { storeFiles }: Needs) => {
    const { vector_store_id: id = "", file_id: file = "" } = parameters;
    const found = await storeFiles.get(context.authenticated, id, file);
    tellWhenToPoll(found.status, context);
    return { json: toVectorStoreFile(found) };
  },
});

const updateVectorStoreFile = defineOperation({
  ...one,
  method: "POST",
  operationId: "updateVectorStoreFile",
  summary: "Change a file's attributes",
  body: {
    ...namedSchema({ VectorStoreFileUpdate }),
    example: { attributes: { language: "de" } },
    logged: () => ({}),
  },
  answer: described,
  handler: async ({ body, parameters }, { authenticated: caller }, { storeFiles }: Needs) => {
    const { vector_store_id: id = "", file_id: file = "" } = parameters;
    const attributes = checkedPairs(body.attributes ?? {}, "attributes");
    const changed = await storeFiles.changeAttributes(caller, id, file, attributes);
    return { json: toVectorStoreFile(changed) };
  },
});

const getVectorStoreFileContent = defineOperation({
  ...about,
  parameters: one.parameters,
  method: "GET",
  path: `${path}/:file_id/content`,
  operationId: "getVectorStoreFileContent",
  summary: "Read a file's passages",
  query: ContentQuery,
  answer: {
    ...namedSchema({ VectorStoreFileContent }),
    description: "The file's passages.",
    example: {
      object: "vector_store.file_content.page",
      data: [{ type: "text", text: "Keys\n\nSet PADDOCK_API_KEYS to one or more keys." }],
      has_more: false,
      next_page: null,
    },
  },
  handler: async ({ query, parameters }, { authenticated: caller }, { storeFiles }: Needs) => {
    const { vector_store_id: id = "", file_id: file = "" } = parameters;
    const { page: from = 0, limit = mostTexts } = query;
    return { json: toContentPage(await storeFiles.content(caller, id, file, { from, limit })) };
  },
});

const removeVectorStoreFile = defineOperation({
  ...one,
  method: "DELETE",
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
    const { vector_store_id: store = "", file_id: id = "" } = parameters;
    await storeFiles.remove(caller, store, id);
    return { json: { id, object: "vector_store.file.deleted", deleted: true } };
  },
});

const batchExample: FileBatch = {
  id: "vsfb_5d0c3a7e9b124f6d8a01c2e3",
  object: "vector_store.files_batch",
  created_at: 1794700800,
  vector_store_id: "vs_handbook",
  status: "in_progress",
  file_counts: { in_progress: 1, completed: 1, failed: 0, cancelled: 0, total: 2 },
};

const batchPath = "/v1/vector_stores/:vector_store_id/file_batches";
const oneBatch = { ...about, parameters: { ...store, batch_id: "The batch's id." } } as const;
const describedBatch = {
  ...namedSchema({ FileBatch }),
  description: "The batch and its progress.",
  example: batchExample,
};

const createFileBatch = defineOperation({
  ...about,
  method: "POST",
  path: batchPath,
  parameters: store,
  operationId: "createFileBatch",
  summary: "Add several files to a vector store",
  description: "Ingests them in the background; all are added, or none.",
  body: {
    ...namedSchema({ FileBatchRequest }),
    example: { file_ids: [fileExample.id], attributes: { language: "en" } },
    logged: () => ({}),
  },
  answer: describedBatch,
  handler: async ({ body, parameters }, { authenticated: caller }, { storeFiles }: Needs) => {
    const id = parameters.vector_store_id ?? "";
    return { json: toFileBatch(await storeFiles.addBatch(caller, id, toBatchFiles(body))) };
  },
});

const getFileBatch = defineOperation({
  ...oneBatch,
  method: "GET",
  path: `${batchPath}/:batch_id`,
  operationId: "getFileBatch",
  summary: "Describe a batch",
  answer: describedBatch,
  handler: async ({ parameters }, context, { storeFiles }: Needs) => {
    const { vector_store_id: store = "", batch_id: id = "" } = parameters;
    const found = await storeFiles.batch(context.authenticated, store, id);
    tellWhenToPoll(found.status, context);
    return { json: toFileBatch(found) };
  },
});

const cancelFileBatch = defineOperation({
  ...oneBatch,
  method: "POST",
  path: `${batchPath}/:batch_id/cancel`,
  operationId: "cancelFileBatch",
  summary: "Cancel a batch",
  description: "Files that are not ingested yet are left out, with the status `cancelled`.",
  answer: describedBatch,
  handler: async ({ parameters }, { authenticated: caller }, { storeFiles }: Needs) => {
    const { vector_store_id: store = "", batch_id: id = "" } = parameters;
    return { json: toFileBatch(await storeFiles.cancelBatch(caller, store, id)) };
  },
});

const listFileBatchFiles = defineOperation({
  ...oneBatch,
  method: "GET",
  path: `${batchPath}/:batch_id/files`,
  operationId: "listFileBatchFiles",
  summary: "List a batch's files",
  query: VectorStoreFileQuery,
  answer: pageAnswer("VectorStoreFileList", VectorStoreFile, "files", fileExample),
  handler: async ({ query, parameters }, { authenticated: caller }, { storeFiles }: Needs) => {
    const { vector_store_id: store = "", batch_id: id = "" } = parameters;
    const { filter: status, ...rest } = query;
    const page = toPageRequest(rest);
    return {
      json: toPage(await storeFiles.batchFiles(caller, store, id, page, status), toVectorStoreFile),
    };
  },
});

export const vectorStoreFileOperations = [
  addVectorStoreFile,
  listVectorStoreFiles,
  getVectorStoreFile,
  updateVectorStoreFile,
  getVectorStoreFileContent,
  removeVectorStoreFile,
  createFileBatch,
  getFileBatch,
  cancelFileBatch,
  listFileBatchFiles,
] as const;
