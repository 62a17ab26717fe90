/** A file of the queue becomes passages of its vector store's collection. */
import { NodeError } from "../errors.ts";
import type { PassageRepository } from "../ports/passage-repository.ts";
import type { DocumentCaller } from "./document-caller.ts";
import type { DocumentParts, SharedParts } from "./documents.ts";
import type { QueueParts } from "./ingest-queue.ts";
import type { Quota } from "./quota.ts";
import type { Chunking, FileRecord, StoreFile } from "./records.ts";

interface IngestedFile {
  passages: number;
  bytes: number;
}

/** Reads a file, splits it, embeds it and stores it, replacing passages that are there already. */
export type IngestFile = (job: {
  file: FileRecord;
  content: Blob;
  document: string;
  repository: PassageRepository;
  documentPrefix: string;
  chunking: Chunking;
  signal: AbortSignal;
  /** Whether the file waited before for what it needs. */
  hasWaited: boolean;
  /** Called with the number of passages before any is embedded; may throw to refuse the file. */
  onPlanned: (passages: number) => Promise<void>;
  /** Called when passages are stored that were not before. */
  onEmbedded: () => void;
}) => Promise<IngestedFile>;

type IngestFileParts = Omit<DocumentParts, "quota"> &
  Pick<SharedParts, "collections" | "remover"> & { quota: Quota };

export function ingestFile(parts: IngestFileParts): QueueParts["ingest"] {
  const { registry, files, collections, remover, quota, ingest } = parts;
  let hasHandbook = true;
  return async (storeFile, signal, { hasWaited, onEmbedded }) => {
    const { store, file: id, document, chunking, owner } = storeFile;
    const [file] = await registry.findFiles([id]);
    const content = file && (await files.open(id));
    const collection = (await registry.store(store))?.collection;
    if (!file || !content || !collection || !chunking) {
      throw new NodeError("invalid_request", "is not on this node any more; upload it again.");
    }
    using place = quota.ingest(callerOf(owner, parts));
    using lease = await collections.leaseOrCreate(collection, () =>
      checkNew(storeFile, collection, parts),
    );
    // A pending removal runs first, or it would delete the new passages too.
    const removal = { collection, document };
    if (await registry.isRemoved(removal)) await remover.remove(removal);
    const { repository, prefixes } = lease;
    const { passages, bytes } = await ingest({
      ...{ file, content, document, repository, signal, hasWaited, onEmbedded },
      documentPrefix: prefixes.documentPrefix,
      chunking,
      onPlanned: (planned) => place.plan(planned),
    });
    if (hasHandbook && collection === parts.ownCollection) {
      await removeHandbook(repository, parts.handbook);
      hasHandbook = false;
    }
    // While the place is held, or its passages would count nowhere for a moment.
    await registry.settle({ ...storeFile, status: "completed", passages, usageBytes: bytes });
  };
}

/** A collection that is away comes back with its passages, and without those of one that was made in its place. */
async function checkNew(
  { store }: StoreFile,
  collection: string,
  { registry, store: all, collections, ownCollection }: IngestFileParts,
): Promise<void> {
  if (!(await all.isMissing(collection))) return;
  // Throws where the node's own, which is always open, is away too.
  using own = await collections.lease(ownCollection);
  await own?.repository.count();
  if ((await registry.counts({ store })).completed === 0) return;
  const why = `The passages of the vector store '${store}' are away. Put the collections back; or, if they are lost, remove the files from this vector store and add them again.`;
  throw new NodeError("unavailable", why);
}

const callerOf = (owner: string | undefined, { quotaOf }: IngestFileParts): DocumentCaller => ({
  called: "The key that added it",
  ...(owner === undefined ? {} : { id: owner, quota: quotaOf(owner) }),
});

async function removeHandbook(repository: PassageRepository, beginning: string): Promise<void> {
  for (const { name } of await repository.documents()) {
    if (name.startsWith(beginning)) await repository.delete(name);
  }
}
