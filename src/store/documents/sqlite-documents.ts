/** The registry of documents, in a SQLite file of the data dir that a thread of its own reads and writes. */
import { NodeError, reasonOf } from "../../core/errors.ts";
import type { DocumentRegistry } from "../../core/ports/document-registry.ts";
import { isThere, type OwnFile, openReadOnly } from "../database.ts";
import { callMethod, type MethodCall, MethodThread } from "../thread-calls.ts";
import { FileRows } from "./file-rows.ts";
import { QueueRows } from "./queue-rows.ts";
import { type Rows, registryFile } from "./registry-file.ts";
import { StoreFileRows } from "./store-file-rows.ts";
import { StoreRows } from "./store-rows.ts";

/** Its name in the data dir. */
export const documentsFile = "documents.sqlite";

/** In the executable all modules are one file, and this path begins at the folder of main.ts. */
const thread = import.meta.url.endsWith("/sqlite-documents.ts")
  ? "./documents-thread.ts"
  : "./store/documents/documents-thread.ts";

/** The methods that change it; where there is no file yet, the others are answered without a thread. */
const writing: ReadonlySet<PropertyKey> = new Set([
  ...["addFile", "removeFile", "addStore", "changeStore", "removeStore", "expireStore"],
  ...["putStoreFiles", "changeAttributes", "removeStoreFile", "reconcile", "cancelBatch"],
  ...["begin", "settle", "addRemoval", "removed"],
]);

export class SqliteDocuments implements DocumentRegistry, AsyncDisposable {
  readonly files = this.#part("files");
  readonly stores = this.#part("stores");
  readonly storeFiles = this.#part("storeFiles");
  readonly queue = this.#part("queue");
  readonly #path: string;
  readonly #thread: MethodThread;

  /** Neither a file nor a thread is made before one is needed. */
  constructor(path: string) {
    this.#path = path;
    this.#thread = new MethodThread({
      module: new URL(thread, import.meta.url),
      data: { path },
      called: "documents",
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread[Symbol.asyncDispose]();
  }

  /** Every method that is called on it is called on the rows, which have the same methods. */
  #part<Part extends keyof DocumentRegistry>(part: Part): DocumentRegistry[Part] {
    return new Proxy(Object.create(null), {
      get:
        (_, method) =>
        (...args: unknown[]) =>
          this.#call({ part, method: String(method), args }),
    });
  }

  async #call(call: MethodCall): Promise<unknown> {
    if (!this.#thread.hasStarted && !isThere(this.#path) && !writing.has(call.method)) {
      using rows = new DocumentRows(this.#path);
      return callMethod(rows, call);
    }
    try {
      return await this.#thread.call(call);
    } catch (cause) {
      if (cause instanceof NodeError) throw cause;
      throw new NodeError("unavailable", `Documents cannot be read: ${reasonOf(cause)}.`, {
        cause,
      });
    }
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

/** The registry as rows of a SQLite file, for the thread that has it to itself. */
export class DocumentRows
  implements
    Disposable,
    Readonly<{ [Part in keyof DocumentRegistry]: Rows<DocumentRegistry[Part]> }>
{
  readonly files: FileRows;
  readonly stores: StoreRows;
  readonly storeFiles: StoreFileRows;
  readonly queue: QueueRows;
  readonly #file: OwnFile;

  /** No file is made until something is written. */
  constructor(path: string) {
    this.#file = registryFile(path);
    this.files = new FileRows(this.#file);
    this.stores = new StoreRows(this.#file);
    this.storeFiles = new StoreFileRows(this.#file);
    this.queue = new QueueRows(this.#file);
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}
