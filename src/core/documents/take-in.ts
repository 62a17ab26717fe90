/** A file of the queue into the collection of its vector store. */
import { NodeError } from "../errors.ts";
import type { DocumentRegistry } from "../ports/document-registry.ts";
import type { FileStore } from "../ports/file-store.ts";
import type { PassageRepository } from "../ports/passage-repository.ts";
import type { DocumentCaller, DocumentQuota } from "./document-caller.ts";
import type { TakenFile } from "./ingest-queue.ts";
import type { OpenCollections } from "./open-collections.ts";
import type { PassageRemover } from "./passage-remover.ts";
import type { Quota } from "./quota.ts";
import type { Chunking, FileRecord, StoreFile } from "./records.ts";

/** Reads a file, cuts it, embeds it and stores it; what is there of it already is replaced. */
export type TakeIn = (job: {
  file: FileRecord;
  content: Blob;
  /** What it is called in the collection. */
  document: string;
  repository: PassageRepository;
  documentPrefix: string;
  chunking: Chunking;
  signal: AbortSignal;
  /** Hears how many passages there will be before any is embedded; may refuse. */
  onPlanned: (passages: number) => Promise<void>;
}) => Promise<TakenFile>;

export interface TakeParts {
  registry: DocumentRegistry;
  files: FileStore;
  collections: OpenCollections;
  remover: PassageRemover;
  quota: Quota;
  quotaOf: (owner: string) => Partial<DocumentQuota>;
  takeIn: TakeIn;
  ownCollection: string;
  /** What the names of the node's own documents begin with, which make room for a user's. */
  handbook: string;
}

export function takeFile(
  parts: TakeParts,
): (file: StoreFile, signal: AbortSignal) => Promise<TakenFile> {
  const { registry, files, collections, remover, quota, takeIn } = parts;
  let hasHandbook = true;
  return async ({ store, file: id, document, chunking, owner }, signal) => {
    const [file] = await registry.files.find([id]);
    const content = file && (await files.open(id));
    const collection = (await registry.stores.store(store))?.collection;
    if (!file || !content || !collection || !chunking) {
      throw new NodeError("invalid_request", "is not on this node any more; upload it again.");
    }
    // What was removed before goes first, or it would take this with it.
    const removal = { collection, document };
    if (await registry.queue.isRemoved(removal)) await remover.remove(removal);
    using place = quota.ingest(callerOf(owner, parts));
    using lease = await collections.leaseOrCreate(collection);
    const { repository, prefixes } = lease;
    const taken = await takeIn({
      ...{ file, content, document, repository, signal },
      documentPrefix: prefixes.documentPrefix,
      chunking,
      onPlanned: (passages) => place.plan(passages),
    });
    if (hasHandbook && collection === parts.ownCollection) {
      await removeHandbook(repository, parts.handbook);
      hasHandbook = false;
    }
    return taken;
  };
}

const callerOf = (owner: string | undefined, { quotaOf }: TakeParts): DocumentCaller => ({
  called: "The key that added it",
  ...(owner === undefined ? {} : { id: owner, quota: quotaOf(owner) }),
});

async function removeHandbook(repository: PassageRepository, beginning: string): Promise<void> {
  for (const { name } of await repository.documents()) {
    if (name.startsWith(beginning)) await repository.delete(name);
  }
}
