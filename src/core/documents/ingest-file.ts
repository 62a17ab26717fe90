/** Ingests a queued file into the collection of its vector store, and maps errors to failures. */
import { type ErrorKind, NodeError } from "../errors.ts";
import type { PassageRepository } from "../ports/passage-repository.ts";
import type { DocumentCaller } from "./document-caller.ts";
import type { DocumentParts, SharedParts } from "./documents.ts";
import type { Quota } from "./quota.ts";
import type { Chunking, Failure, FailureCode, FileRecord, StoreFile } from "./records.ts";

export interface IngestedFile {
  passages: number;
  bytes: number;
}

/** Reads a file, splits it, embeds it and stores it, replacing passages that are there already. */
export type IngestFile = (job: {
  file: FileRecord;
  content: Blob;
  /** Its name in the collection. */
  document: string;
  repository: PassageRepository;
  documentPrefix: string;
  chunking: Chunking;
  signal: AbortSignal;
  /** Called with the number of passages before any is embedded; may throw to refuse the file. */
  onPlanned: (passages: number) => Promise<void>;
}) => Promise<IngestedFile>;

type IngestFileParts = Omit<DocumentParts, "quota"> &
  Pick<SharedParts, "collections" | "remover"> & { quota: Quota };

export function ingestFile(
  parts: IngestFileParts,
): (file: StoreFile, signal: AbortSignal) => Promise<IngestedFile> {
  const { registry, files, collections, remover, quota, ingest } = parts;
  let hasHandbook = true;
  return async ({ store, file: id, document, chunking, owner }, signal) => {
    const [file] = await registry.findFiles([id]);
    const content = file && (await files.open(id));
    const collection = (await registry.store(store))?.collection;
    if (!file || !content || !collection || !chunking) {
      throw new NodeError("invalid_request", "is not on this node any more; upload it again.");
    }
    // A pending removal runs first, or it would delete the new passages too.
    const removal = { collection, document };
    if (await registry.isRemoved(removal)) await remover.remove(removal);
    using place = quota.ingest(callerOf(owner, parts));
    using lease = await collections.leaseOrCreate(collection);
    const { repository, prefixes } = lease;
    const ingested = await ingest({
      ...{ file, content, document, repository, signal },
      documentPrefix: prefixes.documentPrefix,
      chunking,
      onPlanned: (passages) => place.plan(passages),
    });
    if (hasHandbook && collection === parts.ownCollection) {
      await removeHandbook(repository, parts.handbook);
      hasHandbook = false;
    }
    return ingested;
  };
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

/** Temporary: over when a server is back, a disk has room, or a model is loaded. */
const passing: readonly ErrorKind[] = [
  "unavailable",
  "model_not_ready",
  "overloaded",
  "timeout",
  "too_many_requests",
];

export const isPassing = (error: unknown): boolean =>
  error instanceof NodeError && passing.includes(error.kind);

const codes: Partial<Record<ErrorKind, FailureCode>> = {
  invalid_request: "invalid_file",
  payload_too_large: "invalid_file",
  unsupported_media_type: "unsupported_file",
};

export function failureOf(error: unknown): Failure {
  if (!(error instanceof NodeError) || error.kind === "internal") {
    return {
      code: "server_error",
      message: "The node failed to ingest the file. The log has the reason.",
    };
  }
  return { code: codes[error.kind] ?? "server_error", message: sentence(error.message) };
}

/** Messages of readers continue a sentence that begins with the file: "is damaged." */
const sentence = (message: string): string =>
  /^[a-z]/.test(message) ? `The file ${message}` : message;
