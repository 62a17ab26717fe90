/** Deletes expired files and stores, and the passages of removed ones. Deletions that fail are retried; meanwhile no search finds the passages. */
import { NodeError, reasonOf } from "../errors.ts";
import type { Removal } from "../ports/document-registry.ts";
import type { PassageRepository } from "../ports/passage-repository.ts";
import { quoted } from "../quoted.ts";
import type { SharedParts } from "./documents.ts";
import type { FileService } from "./file-service.ts";
import type { QueueParts } from "./ingest-queue.ts";
import { droppedCollections, removedFrom } from "./records.ts";
import type { VectorStoreService } from "./vector-store-service.ts";

type RemoverParts = Pick<SharedParts, "registry" | "store" | "collections" | "log">;

export class PassageRemover {
  readonly #parts: RemoverParts;
  /** Deletions in progress, so that a file that is added again meanwhile is not deleted with the old one. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(parts: RemoverParts) {
    this.#parts = parts;
  }

  /** Returns whether it was deleted; if not, it is retried later. */
  async tryRemove(removal: Removal): Promise<boolean> {
    try {
      await this.remove(removal);
      return !(await this.#parts.registry.isRemoved(removal));
    } catch (error) {
      const fields = { ...removal, reason: reasonOf(error) };
      this.#parts.log.warn("passages cannot be deleted now; they are left out of answers", fields);
      if (error instanceof NodeError) return false;
      throw error;
    }
  }

  async remove(removal: Removal): Promise<void> {
    const key = keyOf(removal);
    const running = this.#running.get(key) ?? this.#remove(removal);
    this.#running.set(key, running);
    try {
      await running;
    } finally {
      if (this.#running.get(key) === running) this.#running.delete(key);
    }
  }

  async #remove(removal: Removal): Promise<void> {
    const { registry, store, collections } = this.#parts;
    const { collection, document } = removal;
    // It may be done since it was listed, and the document stored again.
    if (!(await registry.isRemoved(removal))) return;
    using lease = document === undefined ? undefined : await collections.lease(collection);
    // What is away now would be back with its disk, so it stays to be deleted.
    if (lease === undefined && (await store.isMissing(collection))) return;
    if (document === undefined) await collections.drop(collection, { forGood: true });
    else await lease?.repository.delete(document);
    await registry.removed(removal);
  }
}

const keyOf = ({ collection, document = "" }: Removal): string => `${collection}/${document}`;

/** Makes a collection ready to be filled by a command, also one that was a deleted vector store's. Deletes what a node has yet to delete of it, so that it does not delete what is stored from now on. With `mayBringBack`, files that were removed from it may be stored again. Throws while a node is about to do it, or to drop the whole collection. */
export async function removePending({
  registry,
  ownership,
  repository,
  collection,
  mayBringBack = false,
}: Pick<SharedParts, "registry" | "ownership"> & {
  repository: PassageRepository;
  collection: string;
  mayBringBack?: boolean;
}): Promise<void> {
  const dropped = { collection: droppedCollections, document: collection };
  if (await registry.isRemoved(dropped)) await registry.removed(dropped);
  const removed = { collection: removedFrom(collection), document: undefined };
  if (mayBringBack) await registry.removed(removed);
  for (const document of await registry.hidden(collection)) {
    // In this order: the last owner may have deleted the document, and another process stored it again.
    const isOwned = ownership.take();
    const removal = { collection, document };
    if (!(await registry.isRemoved(removal))) continue;
    if (document === "" || !isOwned) {
      const what = `${document === "" ? "" : `${quoted(document)} of `}the collection '${collection}'`;
      const why = `A node has yet to delete ${what}, and would delete what is stored now with it. Run the command again when it has.`;
      throw new NodeError("unavailable", why);
    }
    await repository.delete(document);
    await registry.removed(removal);
  }
}

/** How long to wait before a collection that could not be reached is tried again. */
const restMs = 5000;

/** Returns the deletion of what is due without a request: passages of removed files, and whatever has expired. */
export function cleanUpWith(
  { registry, remover, access, queue, expiryTime, log }: SharedParts,
  files: FileService,
  stores: VectorStoreService,
): QueueParts["cleanUp"] {
  const resting = new Map<string, number>();
  const expired = () => registry.filesExpiredAt(expiryTime());
  const isResting = (collection: string) => (resting.get(collection) ?? 0) > performance.now();
  /** The next ones that this cleanup has not tried: those of a collection that cannot be reached may be more than a list has. */
  const pending = async (tried: ReadonlySet<string>): Promise<Removal[]> => {
    const due = await registry.removals([...resting.keys()].filter(isResting));
    return due.filter((removal) => !tried.has(keyOf(removal)));
  };
  const removeNow = async (removal: Removal): Promise<void> => {
    const { collection, document } = removal;
    // What is stored after it was deleted would stay. Who removed it stops it, and deletes it then.
    if (document !== undefined && queue.isIngesting(document)) return;
    if (await remover.tryRemove(removal)) resting.delete(collection);
    else resting.set(collection, performance.now() + restMs);
  };
  async function* deletions(): AsyncGenerator<() => Promise<void>> {
    let failed: unknown;
    const tried = new Set<string>();
    for (let due = await pending(tried); due.length > 0; due = await pending(tried)) {
      for (const removal of due) {
        tried.add(keyOf(removal));
        if (!isResting(removal.collection)) yield () => removeNow(removal);
      }
    }
    // All of them: one caller's may be thousands, and each is found until it is deleted.
    for (let due = await expired(); due.length > 0; due = await expired()) {
      for (const { id, filename } of due) {
        log.info("a file has expired, and is deleted", { file: id, filename });
        yield () =>
          files.remove(id).catch(async (error: unknown) => {
            // It would be found again and again; if only its bytes are left, others need not wait.
            if ((await registry.findFiles([id])).length > 0) throw error;
            failed = error;
          });
      }
    }
    for (const store of await registry.outlines()) {
      if (store.state === "expired" || !access.isExpired(store)) continue;
      log.info("a vector store has expired, and is emptied", { store: store.id, name: store.name });
      yield () => stores.expire(store);
    }
    if (failed !== undefined) throw failed;
  }
  let said = "";
  return async (signal) => {
    try {
      for await (const remove of deletions()) {
        if (signal.aborted) return;
        await remove();
      }
      said = "";
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== said) log.error("documents cannot be deleted now", { reason });
      said = reason;
    }
  };
}
