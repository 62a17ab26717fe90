/** What is due without anybody asking: passages of what was removed, and what has expired. */
import type { Log } from "../log.ts";
import type { DocumentRegistry } from "../ports/document-registry.ts";
import type { FileService } from "./file-service.ts";
import type { PassageRemover } from "./passage-remover.ts";
import type { StoreAccess } from "./store-access.ts";
import type { VectorStoreService } from "./vector-store-service.ts";

export interface TidyParts {
  registry: DocumentRegistry;
  access: StoreAccess;
  files: FileService;
  stores: VectorStoreService;
  remover: PassageRemover;
  expiryTime: () => Date;
  log: Log;
}

/** How long a collection rests that could not be reached. */
const restMs = 5000;

export class Tidying {
  readonly #parts: TidyParts;
  readonly #resting = new Map<string, number>();

  constructor(parts: TidyParts) {
    this.#parts = parts;
  }

  async run(): Promise<void> {
    await this.#removePassages();
    const { registry, access, files, stores, expiryTime, log } = this.#parts;
    for (const { id, filename } of await registry.files.filesExpiredAt(expiryTime())) {
      log.info("a file has expired, and is deleted", { file: id, filename });
      await files.remove(id);
    }
    for (const store of await registry.stores.allStores()) {
      if (store.state === "expired" || !access.isExpired(store)) continue;
      log.info("a vector store has expired, and is emptied", { store: store.id, name: store.name });
      await stores.expire(store);
    }
  }

  async #removePassages(): Promise<void> {
    const { registry, remover } = this.#parts;
    for (const removal of await registry.queue.removals()) {
      const { collection } = removal;
      if ((this.#resting.get(collection) ?? 0) > performance.now()) continue;
      if (await remover.tryRemove(removal)) this.#resting.delete(collection);
      else this.#resting.set(collection, performance.now() + restMs);
    }
  }
}
