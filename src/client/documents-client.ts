/** Client for files and vector stores. A vector store is a collection. */
import { type ApiClient, json, type RequestOptions } from "./api-client.ts";
import type { FileObject, ListPage, PassagePage, VectorStore, VectorStoreFile } from "./wire.ts";

interface PageOptions extends RequestOptions {
  limit: number;
  /** The page after the item with this id. */
  after?: string | undefined;
}

export interface PassageOptions extends RequestOptions {
  /** The position of the first passage. */
  from: number;
  limit: number;
}

export class DocumentsClient {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  /** The largest file that the node accepts, if it reports one. */
  async maxFileBytes(options?: RequestOptions): Promise<number | undefined> {
    const { headers } = await this.#api.request("/files?limit=1", options);
    const bytes = Number(headers.get("x-paddock-max-file-bytes") ?? Number.NaN);
    return Number.isFinite(bytes) ? bytes : undefined;
  }

  async deleteFile(file: string, options?: RequestOptions): Promise<void> {
    await this.#api.request(`/files/${encodeURIComponent(file)}`, {
      ...options,
      method: "DELETE",
    });
  }

  async stores({ limit, after, ...options }: PageOptions): Promise<ListPage<VectorStore>> {
    return await json(
      await this.#api.request(`/vector_stores?${pageQuery({ limit, after })}`, options),
    );
  }

  async store(store: string, options?: RequestOptions): Promise<VectorStore> {
    return await json(await this.#api.request(pathOf(store), options));
  }

  async createStore(name: string, options?: RequestOptions): Promise<VectorStore> {
    return await json(await this.#api.request("/vector_stores", { ...options, body: { name } }));
  }

  async renameStore(store: string, name: string, options?: RequestOptions): Promise<VectorStore> {
    return await json(await this.#api.request(pathOf(store), { ...options, body: { name } }));
  }

  async deleteStore(store: string, options?: RequestOptions): Promise<void> {
    await this.#api.request(pathOf(store), { ...options, method: "DELETE" });
  }

  /** Newest first. */
  async storeFiles(
    store: string,
    { limit, after, ...options }: PageOptions,
  ): Promise<ListPage<VectorStoreFile>> {
    const path = `${pathOf(store)}/files?${pageQuery({ limit, after })}`;
    return await json(await this.#api.request(path, options));
  }

  async storeFile(store: string, file: string, options?: RequestOptions): Promise<VectorStoreFile> {
    return await json(await this.#api.request(pathOf(store, file), options));
  }

  async addFile(
    store: string,
    { id }: Pick<FileObject, "id">,
    options?: RequestOptions,
  ): Promise<VectorStoreFile> {
    const body = { file_id: id };
    return await json(await this.#api.request(`${pathOf(store)}/files`, { ...options, body }));
  }

  async removeFile(store: string, file: string, options?: RequestOptions): Promise<void> {
    await this.#api.request(pathOf(store, file), { ...options, method: "DELETE" });
  }

  async passages(
    store: string,
    file: string,
    { from, limit, ...options }: PassageOptions,
  ): Promise<PassagePage> {
    const path = `${pathOf(store, file)}/content?limit=${limit}&page=${from}`;
    return await json(await this.#api.request(path, options));
  }
}

function pathOf(store: string, file?: string): string {
  const path = `/vector_stores/${encodeURIComponent(store)}`;
  return file === undefined ? path : `${path}/files/${encodeURIComponent(file)}`;
}

function pageQuery({ limit, after }: Pick<PageOptions, "limit" | "after">): string {
  const cursor = after === undefined ? "" : `&after=${encodeURIComponent(after)}`;
  return `limit=${limit}${cursor}`;
}
