/** Files and vector stores through an app, in few words. */
import type { TSchema } from "@sinclair/typebox";
import { FileObject } from "../../src/server/operations/files/schema.ts";
import {
  FileBatch,
  VectorStore,
  VectorStoreFile,
  VectorStoreSearchResult,
} from "../../src/server/operations/vector-stores/schema.ts";
import { pageSchema } from "../../src/server/wire/page-schema.ts";
import { decode } from "./decode.ts";
import { waitFor } from "./wait-for.ts";

export interface Handles {
  handle(request: Request): Promise<Response>;
}

/** `key`: what requests carry. */
export function documentsClient({ handle }: Handles, key?: string) {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const send = (method: string, path: string, body?: unknown): Promise<Response> =>
    handle(
      new Request(`http://localhost/v1${path}`, {
        method,
        headers: {
          ...headers,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  const ask =
    <Schema extends TSchema>(schema: Schema) =>
    async (method: string, path: string, body?: unknown) =>
      await decode(schema, await send(method, path, body));
  const getFile = (store: string, file: string) =>
    ask(VectorStoreFile)("GET", `/vector_stores/${store}/files/${file}`);
  const settled = async (store: string, file: string) => {
    await waitFor(
      "the file to be taken in",
      async () => (await getFile(store, file)).status !== "in_progress",
    );
    return await getFile(store, file);
  };
  const client = {
    send,
    ask,
    getFile,
    settled,
    async upload(text: string | Blob, name = "notes.md") {
      const form = new FormData();
      form.append("file", typeof text === "string" ? new Blob([text]) : text, name);
      form.append("purpose", "assistants");
      return await handle(
        new Request("http://localhost/v1/files", { method: "POST", headers, body: form }),
      );
    },
    async file(text: string | Blob, name?: string) {
      return (await decode(FileObject, await client.upload(text, name))).id;
    },
    store: (body: object = {}) => ask(VectorStore)("POST", "/vector_stores", body),
    getStore: (id: string) => ask(VectorStore)("GET", `/vector_stores/${id}`),
    add: (store: string, body: object) =>
      ask(VectorStoreFile)("POST", `/vector_stores/${store}/files`, body),
    /** A file that is taken in, or failed. */
    async taken(store: string, text: string, name?: string, rest: object = {}) {
      const file = await client.file(text, name);
      await client.add(store, { file_id: file, ...rest });
      return await settled(store, file);
    },
    files: (store: string, query = "") =>
      ask(pageSchema(VectorStoreFile))("GET", `/vector_stores/${store}/files?${query}`),
    batch: (store: string, body: object) =>
      ask(FileBatch)("POST", `/vector_stores/${store}/file_batches`, body),
    getBatch: (store: string, id: string) =>
      ask(FileBatch)("GET", `/vector_stores/${store}/file_batches/${id}`),
    async search(store: string, query: string | string[], rest: object = {}) {
      const body = { query, ...rest };
      const { data } = await ask(VectorStoreSearchResult)(
        "POST",
        `/vector_stores/${store}/search`,
        body,
      );
      return data;
    },
  };
  return client;
}

export type DocumentsClient = ReturnType<typeof documentsClient>;
