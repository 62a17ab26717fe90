/** The registry of documents, in a SQLite file of the data dir that a thread of its own reads and writes. */
import { NodeError, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type {
  DocumentRegistry,
  FileRegistry,
  QueueRegistry,
  StoreFileRegistry,
  StoreRegistry,
} from "../../core/ports/document-registry.ts";
import { openReadOnly } from "../sqlite/collection-file.ts";
import { ThreadCalls } from "../thread-calls.ts";
import type { DocumentsCall, DocumentsResult } from "./documents-thread.ts";
import { FileRows } from "./file-rows.ts";
import { QueueRows } from "./queue-rows.ts";
import { isThere, RegistryFile, type Rows } from "./registry-file.ts";
import { StoreFileRows } from "./store-file-rows.ts";
import { StoreRows } from "./store-rows.ts";

/** Its name in the data dir. */
export const documentsFile = "documents.sqlite";

/** In the executable all modules are one file, and this path begins at the folder of main.ts. */
const thread = import.meta.url.endsWith("/sqlite-documents.ts")
  ? "./documents-thread.ts"
  : "./store/documents/documents-thread.ts";

export class SqliteDocuments implements DocumentRegistry, AsyncDisposable {
  readonly #path: string;
  #thread: ThreadCalls<DocumentsCall, DocumentsResult> | undefined;

  /** Neither a file nor a thread is made before one is needed. */
  constructor(path: string) {
    this.#path = path;
  }

  readonly files: FileRegistry = {
    addFile: (...args) => this.#write("files", "addFile", args),
    find: (...args) => this.#read("files", "find", args),
    files: (...args) => this.#read("files", "files", args),
    removeFile: (...args) => this.#write("files", "removeFile", args),
    filesExpiredAt: (...args) => this.#read("files", "filesExpiredAt", args),
    known: (...args) => this.#read("files", "known", args),
    usageOf: (...args) => this.#read("files", "usageOf", args),
  };

  readonly stores: StoreRegistry = {
    addStore: (...args) => this.#write("stores", "addStore", args),
    store: (...args) => this.#read("stores", "store", args),
    storeOf: (...args) => this.#read("stores", "storeOf", args),
    stores: (...args) => this.#read("stores", "stores", args),
    allStores: (...args) => this.#read("stores", "allStores", args),
    changeStore: (...args) => this.#write("stores", "changeStore", args),
    removeStore: (...args) => this.#write("stores", "removeStore", args),
    expireStore: (...args) => this.#write("stores", "expireStore", args),
  };

  readonly storeFiles: StoreFileRegistry = {
    putStoreFiles: (...args) => this.#write("storeFiles", "putStoreFiles", args),
    inStore: (...args) => this.#read("storeFiles", "inStore", args),
    storeFiles: (...args) => this.#read("storeFiles", "storeFiles", args),
    counts: (...args) => this.#read("storeFiles", "counts", args),
    usageOf: (...args) => this.#read("storeFiles", "usageOf", args),
    attributesOf: (...args) => this.#read("storeFiles", "attributesOf", args),
    changeAttributes: (...args) => this.#write("storeFiles", "changeAttributes", args),
    removeStoreFile: (...args) => this.#write("storeFiles", "removeStoreFile", args),
    selection: (...args) => this.#read("storeFiles", "selection", args),
    hidden: (...args) => this.#read("storeFiles", "hidden", args),
    filenameOf: (...args) => this.#read("storeFiles", "filenameOf", args),
    reconcile: (...args) => this.#write("storeFiles", "reconcile", args),
    batch: (...args) => this.#read("storeFiles", "batch", args),
    cancelBatch: (...args) => this.#write("storeFiles", "cancelBatch", args),
    passagesOf: (...args) => this.#read("storeFiles", "passagesOf", args),
  };

  readonly queue: QueueRegistry = {
    queued: (...args) => this.#read("queue", "queued", args),
    waitingOwners: (...args) => this.#read("queue", "waitingOwners", args),
    nextOf: (...args) => this.#read("queue", "nextOf", args),
    begin: (...args) => this.#write("queue", "begin", args),
    settle: (...args) => this.#write("queue", "settle", args),
    removals: (...args) => this.#read("queue", "removals", args),
    isRemoved: (...args) => this.#read("queue", "isRemoved", args),
    addRemoval: (...args) => this.#write("queue", "addRemoval", args),
    removed: (...args) => this.#write("queue", "removed", args),
  };

  async [Symbol.asyncDispose](): Promise<void> {
    const running = this.#thread;
    this.#thread = undefined;
    await running?.close();
  }

  /** Where there is no file, the answer is known without a thread. */
  async #read<Part extends keyof DocumentRegistry, Result>(
    part: Part,
    method: keyof DocumentRegistry[Part] & string,
    args: readonly unknown[],
  ): Promise<Result> {
    if (this.#thread !== undefined || isThere(this.#path)) {
      return await this.#call({ part, method, args });
    }
    using rows = new DocumentRows(this.#path);
    return perform(rows, { part, method, args });
  }

  #write<Part extends keyof DocumentRegistry, Result>(
    part: Part,
    method: keyof DocumentRegistry[Part] & string,
    args: readonly unknown[],
  ): Promise<Result> {
    return this.#call({ part, method, args });
  }

  async #call<Result>(call: RegistryCall): Promise<Result> {
    const result = await this.#ask(call).catch((cause: unknown) => {
      throw new NodeError("unavailable", `Documents cannot be read: ${reasonOf(cause)}.`, {
        cause,
      });
    });
    const { refusal } = result;
    if (refusal === undefined) return Reflect.get<object, string>(result, "value");
    throw new NodeError(refusal.kind, refusal.message, given({ param: refusal.param }));
  }

  async #ask(call: RegistryCall): Promise<DocumentsResult> {
    // One that has died with a call is started again with the next.
    if (this.#thread === undefined || this.#thread.hasEnded) {
      this.#thread = new ThreadCalls({
        module: new URL(thread, import.meta.url),
        data: { path: this.#path },
        called: "documents",
        close: "close",
      });
    }
    return await this.#thread.call(call);
  }
}

/** How many files a registry knows, or why it cannot be read; undefined where there is none. Changes nothing. */
export function inspectRegistry(path: string): number | Error | undefined {
  if (!isThere(path)) return undefined;
  try {
    using database = openReadOnly(path);
    const count = database.query<{ count: number }, []>("select count(*) as count from files");
    return count.get()?.count ?? 0;
  } catch (error) {
    return error instanceof Error ? error : new Error(reasonOf(error));
  }
}

/** The registry of documents as rows of a SQLite file, for the thread that has it to itself. */

export class DocumentRows
  implements
    Disposable,
    Readonly<{ [Part in keyof DocumentRegistry]: Rows<DocumentRegistry[Part]> }>
{
  readonly files: FileRows;
  readonly stores: StoreRows;
  readonly storeFiles: StoreFileRows;
  readonly queue: QueueRows;
  readonly #registry: RegistryFile;

  /** No file is made until something is written. */
  constructor(path: string) {
    this.#registry = new RegistryFile(path);
    this.files = new FileRows(this.#registry);
    this.stores = new StoreRows(this.#registry);
    this.storeFiles = new StoreFileRows(this.#registry);
    this.queue = new QueueRows(this.#registry);
  }

  [Symbol.dispose](): void {
    this.#registry[Symbol.dispose]();
  }
}

/** A method of a part, by their names. */
export interface RegistryCall {
  part: keyof DocumentRegistry;
  method: string;
  args: readonly unknown[];
}

/** Calls the method; what it returns is what the port says of it. */
export function perform(rows: DocumentRows, { part, method, args }: RegistryCall) {
  const target = rows[part];
  const called: unknown = Reflect.get(target, method);
  if (typeof called !== "function") throw new Error(`The registry has no '${part}.${method}'.`);
  return Reflect.apply(called, target, args);
}
