/** The registry of documents, in a SQLite file of the data dir. */
import { reasonOf } from "../../core/errors.ts";
import type { DocumentRegistry } from "../../core/ports/document-registry.ts";
import { openReadOnly } from "../sqlite/read-only-database.ts";
import { FileRows } from "./file-rows.ts";
import { QueueRows } from "./queue-rows.ts";
import { isThere, RegistryFile } from "./registry-file.ts";
import { StoreFileRows } from "./store-file-rows.ts";
import { StoreRows } from "./store-rows.ts";

/** Its name in the data dir. */
export const documentsFile = "documents.sqlite";

export class SqliteDocuments implements DocumentRegistry {
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
