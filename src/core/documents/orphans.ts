/** Uploads and passages that do not match their registry. Files without a record are set aside and can be recovered; they are never deleted. */
import { reasonOf } from "../errors.ts";
import { given } from "../given.ts";
import type { Log } from "../log.ts";
import type { DocumentRegistry } from "../ports/document-registry.ts";
import type { FileStore } from "../ports/file-store.ts";
import type { CollectionStore } from "../ports/passage-repository.ts";
import type { SharedParts } from "./documents.ts";
import type { DetectType } from "./file-service.ts";
import { type FileRecord, isFileId, type StoreFile } from "./records.ts";

export interface OrphanParts {
  registry: DocumentRegistry;
  files: FileStore;
}

const remedy = "Restore documents.sqlite from a backup, or run 'paddock documents recover'.";

/** Moves files without a record to `files/orphaned`, and back once they have one; without a registry that can be read, none. */
export async function setOrphansAside({
  registry,
  files,
  log,
}: OrphanParts & { log: Log }): Promise<void> {
  try {
    // Fails if they are away, before any deletion counts as done.
    await files.names();
    await finishDeletions({ registry, files }, (file, reason) => {
      const said = "the content of a deleted file is still there; the next start tries again";
      log.error(said, { file, reason });
    });
    // In this order: one that comes meanwhile is not missed.
    const { files: all } = await registry.fileUsage();
    const { stored, orphaned } = await files.names();
    const known = await registry.knownFiles([...stored, ...orphaned]);
    if (known === undefined) {
      if (stored.length === 0) return;
      const count = { files: stored.length, remedy };
      log.error("there are uploads and no registry of them; they stay as they are", count);
      return;
    }
    const isStored = new Set(stored);
    const twice = new Set(orphaned.filter((name) => isStored.has(name)));
    const unknown = stored.filter((name) => !known.has(name) && !twice.has(name));
    const back = orphaned.filter((name) => known.has(name) && !twice.has(name));
    for (const name of unknown) await files.setAside(name);
    for (const name of back) await files.takeBack(name);
    await files.removeUnfinished();
    if (unknown.length > 0) {
      const count = { files: unknown.length, remedy };
      log.warn("uploads that the registry does not know were moved to files/orphaned", count);
    }
    if (twice.size > 0) {
      const said = "uploads are in files and in files/orphaned; both stay where they are";
      log.warn(said, { files: twice.size });
    }
    if (all > known.size) {
      const remedy = "Restore files/ from a backup; 'paddock doctor' names them.";
      const said = "uploads that the registry knows are not in the data dir";
      log.error(said, { files: all - known.size, remedy });
    }
    if (back.length > 0) {
      log.info("uploads were moved back from files/orphaned", { files: back.length });
    }
  } catch (error) {
    const reason = reasonOf(error);
    log.error("uploads cannot be compared with their registry; they stay as they are", { reason });
  }
}

/** Finishes deletions that were interrupted between the record and the bytes. */
async function finishDeletions(
  { registry, files }: OrphanParts,
  onFailure: (file: string, reason: string) => void,
): Promise<void> {
  for (const document of await registry.deletions()) {
    try {
      if (!(await files.remove(document))) continue;
    } catch (error) {
      onFailure(document, reasonOf(error));
      continue;
    }
    await registry.removed({ collection: "", document });
  }
}

/** Reports vector stores with files whose collection is gone: a search finds nothing in them. */
export async function reportLostPassages({
  registry,
  store,
  log,
}: Pick<OrphanParts, "registry"> & { store: CollectionStore; log: Log }): Promise<void> {
  try {
    const there = new Set(await store.list());
    const stores: string[] = [];
    for (const { id, collection, isOwn } of await registry.outlines()) {
      if (!isOwn || there.has(collection)) continue;
      if ((await registry.counts({ store: id })).completed > 0) stores.push(id);
    }
    if (stores.length === 0) return;
    const remedy =
      "Restore the collections from a backup, or remove the files from these stores and add them again.";
    log.error("the passages of vector stores are gone; nothing is found in them", {
      stores,
      remedy,
    });
  } catch (error) {
    // A Qdrant server may be away, and the registry has been reported already.
    log.debug("the collections cannot be compared with the vector stores", {
      reason: reasonOf(error),
    });
  }
}

/** How many files to read or to queue at a time. */
const slice = 1000;

/** Returns a look at a collection, the first time unless `again`: files whose passages it lacks, as where it is older than the registry, are ingested again. */
export function queueLostWith({
  registry,
  collections,
  queue,
  ownership,
  log,
}: Pick<SharedParts, "registry" | "collections" | "queue" | "ownership" | "log">) {
  const seen = new Set<string>();
  return async (name: string, { again = false } = {}): Promise<void> => {
    if (seen.has(name) && !again) return;
    seen.add(name);
    try {
      using lease = await collections.lease(name);
      const store = lease && (await registry.storeOf(name));
      if (lease === undefined || store === undefined) return void seen.delete(name);
      // In this order: what is stored meanwhile is not missed.
      const lost = new Map(
        (await completedIn(registry, store.id)).map((file) => [file.document, file.file]),
      );
      if (lost.size === 0) return;
      for (const { name, passages, parts } of await lease.repository.documents()) {
        if (passages === parts) lost.delete(name);
      }
      if (lost.size === 0 || !ownership.take()) return;
      const files = [...lost.values()];
      for (let at = 0; at < files.length; at += slice) {
        await registry.queueAgain(store.id, files.slice(at, at + slice));
      }
      queue.wake();
      const said = "a collection lacks the passages of files, which are ingested again";
      log.warn(said, { store: store.id, files: files.length });
    } catch (error) {
      seen.delete(name);
      log.debug("a collection cannot be compared with its files", {
        collection: name,
        reason: reasonOf(error),
      });
    }
  };
}

/** Uploads of a vector store whose passages are stored. */
async function completedIn(registry: DocumentRegistry, store: string): Promise<StoreFile[]> {
  const found: StoreFile[] = [];
  for (let after: string | undefined; ; ) {
    const page = { limit: slice, order: "asc" as const, ...given({ after }) };
    const { items, hasMore } = await registry.storeFiles({ store, status: "completed" }, page);
    found.push(...items.filter(({ isUploaded, passages }) => isUploaded && passages > 0));
    after = items.at(-1)?.file;
    if (!hasMore) return found;
  }
}

/** Adds a record for every upload that has none: its owner, purpose and expiry are lost, and its name unless it is in a vector store. */
export async function recoverOrphans({
  registry,
  files,
  detectType,
  endingOf,
}: OrphanParts & {
  detectType: DetectType;
  endingOf: (type: string) => string;
}): Promise<FileRecord[]> {
  // What was deleted does not come back.
  const undeletable = new Set<string>();
  await finishDeletions({ registry, files }, (file) => undeletable.add(file));
  const { stored, orphaned } = await files.names();
  const all = new Set([...orphaned, ...stored]);
  const known = (await registry.knownFiles([...all])) ?? new Set();
  const isStored = new Set(stored);
  const recovered: FileRecord[] = [];
  for (const id of all) {
    if (known.has(id) || undeletable.has(id) || !isFileId(id)) continue;
    if (!isStored.has(id)) await files.takeBack(id);
    const content = await files.open(id);
    if (content === undefined) continue;
    const head = new Uint8Array(await content.slice(0, headBytes).arrayBuffer());
    const filename = (await registry.filenameOf(id)) ?? `${id}${endingOf(detectType(id, head))}`;
    const file: FileRecord = {
      ...{ id, filename, purpose: "assistants", bytes: content.size },
      sha256: await digestOf(content),
      type: detectType(filename, head),
      createdAt: new Date(content instanceof File ? content.lastModified : 0),
    };
    await registry.addFile(file);
    recovered.push(file);
  }
  return recovered;
}

/** Enough to detect any known format. */
const headBytes = 8192;

async function digestOf(content: Blob): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const piece of content.stream()) hash.update(piece);
  return hash.digest("hex");
}
