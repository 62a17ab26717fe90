/** The API's typed client, for the command line and the page. Answers are not validated. */
import { ApiError, statusError } from "./api-error.ts";
import { readChunks } from "./event-stream.ts";
import type {
  ChatCompletionChunk,
  ChatCompletionRequest,
  ListPage,
  ModelList,
  NodeInfo,
  PassagePage,
  PullEvent,
  Readiness,
  RetrieveRequest,
  RetrieveResult,
  VectorStore,
  VectorStoreFile,
} from "./wire.ts";

interface ApiClientOptions {
  /** The API's base URL, without a trailing slash: `/v1`, `https://host/v1`. */
  baseUrl: string;
  /** Returns the API key; called for each request. Default: none. */
  key?: () => string | null | undefined;
  /** `manual`: a redirect is an error, so that no other server gets the key. Default: `follow`. */
  redirect?: "follow" | "manual";
}

export interface RequestOptions {
  signal?: AbortSignal;
}

interface PageOptions extends RequestOptions {
  limit: number;
  /** The page after the item with this id. */
  after?: string | undefined;
}

interface AnyRequestOptions extends RequestOptions {
  /** Default: POST with a body, otherwise GET. */
  method?: "DELETE" | "POST";
  body?: object;
  /** In addition to the key and the content type. */
  headers?: Readonly<Record<string, string>>;
}

/** A request's fields; undefined ones are left out of the JSON. */
type Fields<Request extends { model: unknown; messages: unknown }> = Pick<
  Request,
  "model" | "messages"
> & { [Name in keyof Request]?: Request[Name] | undefined };

/** Without `stream`, which the called method sets. */
export type ChatRequest = Omit<Fields<ChatCompletionRequest>, "stream">;

export class ApiClient {
  readonly #baseUrl: string;
  readonly #key: () => string | null | undefined;
  readonly #redirect: "follow" | "manual";

  constructor({ baseUrl, key = () => undefined, redirect = "follow" }: ApiClientOptions) {
    this.#baseUrl = baseUrl;
    this.#key = key;
    this.#redirect = redirect;
  }

  async models(options?: RequestOptions): Promise<ModelList> {
    return await this.ask("/models", options);
  }

  async loadModel(model: string, options?: RequestOptions): Promise<void> {
    await this.request("/models/load", { ...options, body: { model } });
  }

  async unloadModel(model: string, options?: RequestOptions): Promise<void> {
    await this.request("/models/unload", { ...options, body: { model } });
  }

  deleteModel(model: string, options?: RequestOptions): Promise<void> {
    return this.#delete(`/models/${encodeURIComponent(model)}`, options);
  }

  /** Resolves when the pull begins; its events end with the model's name. */
  async pullModel(source: string, options?: RequestOptions): Promise<AsyncGenerator<PullEvent>> {
    const { body } = await this.request("/models/pull", { ...options, body: { source } });
    return readChunks<PullEvent>(body, options?.signal);
  }

  async cancelPull(options?: RequestOptions): Promise<void> {
    await this.request("/models/pull/cancel", { ...options, method: "POST" });
  }

  async info(options?: RequestOptions): Promise<NodeInfo> {
    return await this.ask("/info", options);
  }

  async retrieve(body: Fields<RetrieveRequest>, options?: RequestOptions): Promise<RetrieveResult> {
    return await this.ask("/retrieve", { ...options, body });
  }

  /** Resolves when the response begins; the chunks end at `[DONE]`. */
  async streamChat(
    request: ChatRequest,
    options?: RequestOptions,
  ): Promise<AsyncGenerator<ChatCompletionChunk>> {
    const { body } = await this.requestChatStream(request, options);
    return readChunks(body, options?.signal);
  }

  /** The raw response, for servers that may send a complete answer instead of a stream. */
  async requestChatStream(request: ChatRequest, options?: RequestOptions): Promise<Response> {
    const body = { ...request, stream: true };
    return await this.request("/chat/completions", { ...options, body });
  }

  /** A node that is not ready reports why, with an error status. */
  async readiness(options?: RequestOptions): Promise<Readiness> {
    return await json(await this.#send(`${this.#root}/ready`, options));
  }

  async metrics(options?: RequestOptions): Promise<string> {
    const response = await this.#send(`${this.#root}/metrics`, options);
    if (!response.ok) throw await statusError(response);
    return await response.text();
  }

  /** Readiness and metrics are not under `/v1`. */
  get #root(): string {
    return this.#baseUrl.replace(/\/v1$/, "");
  }

  /** The largest file that the node accepts, if it reports one. */
  async maxFileBytes(options?: RequestOptions): Promise<number | undefined> {
    const { headers } = await this.request("/files?limit=1", options);
    const bytes = Number(headers.get("x-paddock-max-file-bytes") ?? Number.NaN);
    return Number.isFinite(bytes) ? bytes : undefined;
  }

  deleteFile(file: string, options?: RequestOptions): Promise<void> {
    return this.#delete(`/files/${encodeURIComponent(file)}`, options);
  }

  stores(page: PageOptions): Promise<ListPage<VectorStore>> {
    return this.ask(`/vector_stores?${pageQuery(page)}`, page);
  }

  createStore(name: string): Promise<VectorStore> {
    return this.ask("/vector_stores", { body: { name } });
  }

  renameStore(store: string, name: string): Promise<VectorStore> {
    return this.ask(pathOf(store), { body: { name } });
  }

  deleteStore(store: string, options?: RequestOptions): Promise<void> {
    return this.#delete(pathOf(store), options);
  }

  /** Newest first. */
  storeFiles(store: string, page: PageOptions): Promise<ListPage<VectorStoreFile>> {
    return this.ask(`${pathOf(store)}/files?${pageQuery(page)}`, page);
  }

  addFile(store: string, file: string, options?: RequestOptions): Promise<VectorStoreFile> {
    return this.ask(`${pathOf(store)}/files`, { ...options, body: { file_id: file } });
  }

  removeFile(store: string, file: string, options?: RequestOptions): Promise<void> {
    return this.#delete(pathOf(store, file), options);
  }

  passages(store: string, file: string, from: number, limit: number): Promise<PassagePage> {
    return this.ask(`${pathOf(store, file)}/content?limit=${limit}&page=${from}`);
  }

  async #delete(path: string, options?: RequestOptions): Promise<void> {
    await this.request(path, { ...options, method: "DELETE" });
  }

  /** The JSON that any operation of the API answers with. */
  async ask<Answer>(path: string, options?: AnyRequestOptions): Promise<Answer> {
    return await json(await this.request(path, options));
  }

  /** Calls any operation of the API; throws if the status is not 2xx. */
  async request(path: string, options?: AnyRequestOptions): Promise<Response> {
    const response = await this.#send(`${this.#baseUrl}${path}`, options);
    if (response.ok) return response;
    throw await statusError(response);
  }

  async #send(url: string, options: AnyRequestOptions = {}): Promise<Response> {
    const { method, body, signal } = options;
    const headers = new Headers(options.headers);
    const key = this.#key();
    if (typeof key === "string") headers.set("authorization", `Bearer ${key}`);
    if (body !== undefined) headers.set("content-type", "application/json");
    try {
      return await fetch(url, {
        headers,
        redirect: this.#redirect,
        ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
        ...(method === undefined ? {} : { method }),
        signal: signal ?? null,
      });
    } catch (cause) {
      if (signal?.aborted === true) throw cause;
      throw new ApiError("unreachable", "The server cannot be reached.", { cause });
    }
  }
}

export async function json<Answer>(response: Response): Promise<Answer> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError("not_json", "The server did not send JSON.", { response, cause });
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
