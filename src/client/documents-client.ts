/** Client for files and vector stores. A vector store is a collection. */
import type { ApiClient, RequestOptions } from "./api-client.ts";
import type { FileObject, ListPage, PassagePage, VectorStore, VectorStoreFile } from "./wire.ts";

interface PageOptions extends RequestOptions {
  limit: number;
  /** The page after the item with this id. */
  after?: string | undefined;
}

interface PassageOptions extends RequestOptions {
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

  deleteFile(file: string, options?: RequestOptions): Promise<void> {
    return this.#delete(`/files/${encodeURIComponent(file)}`, options);
  }

  stores(page: PageOptions): Promise<ListPage<VectorStore>> {
    return this.#api.ask(`/vector_stores?${pageQuery(page)}`, page);
  }

  createStore(name: string): Promise<VectorStore> {
    return this.#api.ask("/vector_stores", { body: { name } });
  }

  renameStore(store: string, name: string): Promise<VectorStore> {
    return this.#api.ask(pathOf(store), { body: { name } });
  }

  deleteStore(store: string, options?: RequestOptions): Promise<void> {
    return this.#delete(pathOf(store), options);
  }

  /** Newest first. */
  storeFiles(store: string, page: PageOptions): Promise<ListPage<VectorStoreFile>> {
    return this.#api.ask(`${pathOf(store)}/files?${pageQuery(page)}`, page);
  }

  addFile(
    store: string,
    { id }: Pick<FileObject, "id">,
    options?: RequestOptions,
  ): Promise<VectorStoreFile> {
    return this.#api.ask(`${pathOf(store)}/files`, { ...options, body: { file_id: id } });
  }

  removeFile(store: string, file: string, options?: RequestOptions): Promise<void> {
    return this.#delete(pathOf(store, file), options);
  }

  passages(store: string, file: string, page: PassageOptions): Promise<PassagePage> {
    const { from, limit } = page;
    return this.#api.ask(`${pathOf(store, file)}/content?limit=${limit}&page=${from}`, page);
  }

  async #delete(path: string, options?: RequestOptions): Promise<void> {
    await this.#api.request(path, { ...options, method: "DELETE" });
  }
}

function pathOf(store: string, file?: string): string {
  const path = `/vector_stores/${encodeURIComponent(store)}`;
  return file === undefined ? path : `${path}/files/${encodeURIComponent(file)}`;
}

function pageQuery({ limit, after }: PageOptions): string {
  const cursor = after === undefined ? "" : `&after=${encodeURIComponent(after)}`;
  return `limit=${limit}${cursor}`;
}
