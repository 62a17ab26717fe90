/** Orphaned uploads: files without a record in the registry. They are set aside and can be recovered; they are never deleted. */
import { reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { DocumentRegistry } from "../ports/document-registry.ts";
import type { FileStore } from "../ports/file-store.ts";
import type { CollectionStore } from "../ports/passage-repository.ts";
import type { DetectType } from "./file-service.ts";
import { type FileRecord, isFileId } from "./records.ts";

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
    // Finishes deletions that a crash interrupted between the record and the bytes.
    for (const removal of await registry.removals()) {
      if (removal.collection !== "" || removal.document === undefined) continue;
      try {
        await files.remove(removal.document);
      } catch (error) {
        const said = "the content of a deleted file is still there; the next start tries again";
        log.error(said, { file: removal.document, reason: reasonOf(error) });
        continue;
      }
      await registry.removed(removal);
    }
    const { stored, orphaned } = await files.names();
    const known = await registry.knownFiles([...stored, ...orphaned]);
    if (known === undefined) {
      if (stored.length === 0) return;
      const count = { files: stored.length, remedy };
      log.error("there are uploads and no registry of them; they stay as they are", count);
      return;
    }
    const unknown = stored.filter((name) => !known.has(name));
    const back = orphaned.filter((name) => known.has(name));
    for (const name of unknown) await files.setAside(name);
    for (const name of back) await files.takeBack(name);
    await files.removeUnfinished();
    if (unknown.length > 0) {
      const count = { files: unknown.length, remedy };
      log.warn("uploads that the registry does not know were moved to files/orphaned", count);
    }
    if (back.length > 0) {
      log.info("uploads were moved back from files/orphaned", { files: back.length });
    }
  } catch (error) {
    const reason = reasonOf(error);
    log.error("uploads cannot be compared with their registry; they stay as they are", { reason });
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
    for (const { id, collection, isOwn } of await registry.allStores()) {
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
  const { stored, orphaned } = await files.names();
  const all = [...orphaned, ...stored];
  const known = (await registry.knownFiles(all)) ?? new Set();
  const aside = new Set(orphaned);
  const recovered: FileRecord[] = [];
  for (const id of all) {
    if (known.has(id) || !isFileId(id)) continue;
    if (aside.has(id)) await files.takeBack(id);
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
