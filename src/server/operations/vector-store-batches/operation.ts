/** /v1/vector_stores/{id}/file_batches */
import type { FileBatchService } from "../../../core/documents/file-batch-service.ts";
import {
  defineOperation,
  defineOperationWithoutBody,
  defineOperationWithQuery,
} from "../../define-operation.ts";
import { documentBodyErrors, documentErrors } from "../../openapi.ts";
import { tags } from "../../operation.ts";
import { pageExample, toPage, toPageRequest } from "../../wire/page-schema.ts";
import { tellWhenToPoll } from "../../wire/poll-after.ts";
import { fileExample } from "../vector-store-files/operation.ts";
import {
  storeFileLimits,
  VectorStoreFileList,
  VectorStoreFileQuery,
} from "../vector-store-files/schema.ts";
import { toVectorStoreFile } from "../vector-store-files/wire.ts";
import { FileBatch, FileBatchRequest } from "./schema.ts";
import { toBatchFiles, toFileBatch } from "./wire.ts";

type Needs = { batches: FileBatchService };

const example: FileBatch = {
  id: "vsfb_5d0c3a7e9b124f6d8a01c2e3",
  object: "vector_store.files_batch",
  created_at: 1794700800,
  vector_store_id: "vs_handbook",
  status: "in_progress",
  file_counts: { in_progress: 1, completed: 1, failed: 0, cancelled: 0, total: 2 },
};

const path = "/v1/vector_stores/:vector_store_id/file_batches";
const about = { name: "vector_stores", tag: tags.vectorStores, scope: "documents" } as const;
const store = { vector_store_id: "The vector store's id." };
const parameters = { ...store, batch_id: "The batch's id." };
const described = {
  name: "FileBatch",
  schema: FileBatch,
  description: "The batch, with how far it is.",
  example,
};

export const createFileBatch = defineOperation({
  ...about,
  method: "POST",
  path,
  parameters: store,
  operationId: "createFileBatch",
  summary: "Add several files to a vector store",
  description: "Has them taken in behind the scenes; all are added, or none.",
  body: {
    name: "FileBatchRequest",
    schema: FileBatchRequest,
    example: { file_ids: [fileExample.id], attributes: { language: "en" } },
    logged: () => ({}),
  },
  answer: described,
  errors: documentBodyErrors,
  handler: async ({ body, parameters }, { authenticated: caller }, { batches }: Needs) => {
    const id = parameters.vector_store_id ?? "";
    return { json: toFileBatch(await batches.create(caller, id, toBatchFiles(body))) };
  },
});

export const getFileBatch = defineOperationWithoutBody({
  ...about,
  method: "GET",
  path: `${path}/:batch_id`,
  parameters,
  operationId: "getFileBatch",
  summary: "Describe a batch",
  answer: described,
  errors: documentErrors,
  handler: async ({ parameters }, context, { batches }: Needs) => {
    const { vector_store_id: store = "", batch_id: id = "" } = parameters;
    const found = await batches.get(context.authenticated, store, id);
    tellWhenToPoll(found.status, context);
    return { json: toFileBatch(found) };
  },
});

export const cancelFileBatch = defineOperationWithoutBody({
  ...about,
  method: "POST",
  path: `${path}/:batch_id/cancel`,
  parameters,
  operationId: "cancelFileBatch",
  summary: "Cancel a batch",
  description: "Files that are not taken in yet stay out, with the status `cancelled`.",
  answer: described,
  errors: documentErrors,
  handler: async ({ parameters }, { authenticated: caller }, { batches }: Needs) => {
    const { vector_store_id: store = "", batch_id: id = "" } = parameters;
    return { json: toFileBatch(await batches.cancel(caller, store, id)) };
  },
});

export const listFileBatchFiles = defineOperationWithQuery({
  ...about,
  method: "GET",
  path: `${path}/:batch_id/files`,
  parameters,
  operationId: "listFileBatchFiles",
  summary: "List a batch's files",
  query: VectorStoreFileQuery,
  answer: {
    name: "VectorStoreFileList",
    schema: VectorStoreFileList,
    description: "A page of files.",
    example: pageExample(fileExample),
  },
  errors: documentErrors,
  handler: async ({ query, parameters }, { authenticated: caller }, { batches }: Needs) => {
    const { vector_store_id: store = "", batch_id: id = "" } = parameters;
    const { filter: status, ...rest } = query;
    const page = toPageRequest(rest, storeFileLimits);
    return {
      json: toPage(await batches.files(caller, store, id, page, status), toVectorStoreFile),
    };
  },
});
