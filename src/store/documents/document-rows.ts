/** The registry of documents as rows of a SQLite file, for the thread that has it to itself. */
import type { DocumentRegistry } from "../../core/ports/document-registry.ts";
import { FileRows } from "./file-rows.ts";
import { QueueRows } from "./queue-rows.ts";
import { RegistryFile, type Rows } from "./registry-file.ts";
import { StoreFileRows } from "./store-file-rows.ts";
import { StoreRows } from "./store-rows.ts";

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
