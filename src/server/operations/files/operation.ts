/** /v1/files */
import { Value } from "@sinclair/typebox/value";
import type { FileService } from "../../../core/documents/file-service.ts";
import type { FileRecord } from "../../../core/documents/records.ts";
import { given } from "../../../core/given.ts";
import type { Log } from "../../../core/log.ts";
import { quoted } from "../../../core/quoted.ts";
import { announceIgnored, fieldExaminer } from "../../middleware/ignored-fields.ts";
import { invalid } from "../../middleware/read-request.ts";
import { documentErrors, uploadErrors } from "../../openapi.ts";
import { defineOperation, described, namedSchema } from "../../operation.ts";
import { refuse, required, toSeconds } from "../../wire/fields.ts";
import { deletedAnswer, pageAnswer, toPage, toPageRequest } from "../../wire/page-schema.ts";
import {
  FileObject,
  FileQuery,
  FileUpload,
  purposeOf,
  UploadFields,
  usualFiles,
} from "./schema.ts";

type Needs = { files: FileService };

const example: FileObject = {
  id: "file-8f3b1c6e2a904d7fb5e01c22",
  object: "file",
  bytes: 48213,
  created_at: 1794700800,
  filename: "manual.pdf",
  purpose: "assistants",
  status: "processed",
  sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  content_type: "application/pdf",
};

const about = {
  name: "files",
  tag: "Files",
  scope: "documents",
  errors: documentErrors,
} as const;
const one = { ...about, parameters: { file_id: "The file's id." } } as const;
const fileAnswer = described({ File: FileObject }, "The file.", example);

export const fileOperations = [
  defineOperation({
    ...about,
    route: "POST /v1/files",
    operationId: "uploadFile",
    summary: "Upload a file",
    description:
      "Stores a file, so that it can be added to vector stores, or used as an image. An upload that breaks off leaves nothing.",
    form: namedSchema({ FileUpload }),
    answer: fileAnswer,
    errors: uploadErrors,
    handler: async ({ form }, context, { files, log }: Needs & { log: Log }) => {
      const caller = context.authenticated;
      await using resources = new AsyncDisposableStack();
      const { fields, received } = await form.read("file", async (part) =>
        resources.use(await files.receive(caller, part)),
      );
      const { ignored, ...asked } = toUploadRequest(fields);
      const what = "a file, as a part of the form with a file name";
      const file = await required(received, "file", what).save(asked);
      announceIgnored(ignored, context, log);
      return { json: toFileObject(file) };
    },
  }),
  defineOperation({
    ...about,
    route: "GET /v1/files",
    operationId: "listFiles",
    summary: "List the uploaded files",
    description: "The header `x-paddock-max-file-bytes` says how large an upload may be.",
    query: FileQuery,
    answer: pageAnswer("FileList", FileObject, "files", example),
    handler: async (
      { query },
      context,
      { files, limits }: Needs & { limits: { maxFileBytes: number } },
    ) => {
      context.headers["x-paddock-max-file-bytes"] = limits.maxFileBytes;
      const request = toPageRequest(query, usualFiles);
      const page = await files.list(context.authenticated, request, query.purpose);
      return { json: toPage(page, toFileObject) };
    },
  }),
  defineOperation({
    ...one,
    route: "GET /v1/files/:file_id",
    operationId: "getFile",
    summary: "Describe a file",
    answer: fileAnswer,
    handler: async ({ parameters }, context, { files }: Needs) => ({
      json: toFileObject(await files.get(context.authenticated, parameters.file_id)),
    }),
  }),
  defineOperation({
    ...one,
    route: "GET /v1/files/:file_id/content",
    operationId: "getFileContent",
    summary: "Download a file",
    description: "Its bytes, always as a download, so that browsers do not show them.",
    answer: {
      name: "FileContent",
      schema: FileUpload.properties.file,
      description: "The bytes.",
      contentType: "application/octet-stream",
    },
    handler: async ({ parameters }, context, { files }: Needs) => {
      const { file, bytes } = await files.content(context.authenticated, parameters.file_id);
      return { download: { content: bytes, filename: file.filename } };
    },
  }),
  defineOperation({
    ...one,
    route: "DELETE /v1/files/:file_id",
    operationId: "deleteFile",
    summary: "Delete a file",
    description: "Deletes it, and removes it from every vector store.",
    answer: deletedAnswer("FileDeleted", "file", example.id),
    handler: async ({ parameters }, context, { files }: Needs) => {
      const { file_id: id } = parameters;
      await files.delete(context.authenticated, id);
      return { json: { id, object: "file", deleted: true } };
    },
  }),
] as const;

function toFileObject(file: FileRecord): FileObject {
  const { id, bytes, filename, purpose, sha256, type, createdAt, expiresAt } = file;
  return {
    id,
    object: "file",
    bytes,
    created_at: toSeconds(createdAt),
    ...given({ expires_at: expiresAt && toSeconds(expiresAt) }),
    filename,
    purpose: purposeOf(purpose) ?? "assistants",
    status: "processed",
    sha256,
    content_type: type,
  };
}

const secondsField = "expires_after[seconds]";

const unserved = new Map([
  ["batch", "has no Batch API"],
  ["fine-tune", "does not train models"],
  ["evals", "has no evals"],
]);

const examineFields = fieldExaminer(UploadFields);

/** Reads the fields of an upload. They may follow the file, which is rejected with them. */
function toUploadRequest(fields: ReadonlyMap<string, string>) {
  const found: Record<string, unknown> = Object.fromEntries(fields);
  const purpose = fields.get("purpose") ?? "";
  const why = unserved.get(purpose);
  if (why !== undefined) {
    throw refuse(
      "purpose",
      `is ${quoted(purpose)}, and this node ${why}; send 'assistants', 'user_data' or 'vision'`,
    );
  }
  const seconds = fields.get(secondsField) ?? "";
  if (/^\d{1,12}$/.test(seconds)) found[secondsField] = Number(seconds);
  if (!Value.Check(UploadFields, found)) throw invalid(UploadFields, found);
  const expiresAfterSeconds = found[secondsField];
  if ((found["expires_after[anchor]"] === undefined) !== (expiresAfterSeconds === undefined)) {
    throw refuse("expires_after", "needs both 'anchor' ('created_at') and 'seconds'");
  }
  const ignored = examineFields(found);
  return { purpose: found.purpose, ...given({ expiresAfterSeconds }), ignored };
}
