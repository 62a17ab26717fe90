/** Removing documents and collections: one after the other, so that it can be followed and stopped. */
import { ApiError } from "../../client/api-error.ts";
import type { VectorStoreFile } from "../../client/wire.ts";
import { withKey } from "../client.ts";
import { documents } from "./collections.ts";

/** A document that was not uploaded has no file on the node. */
export const isUploaded = ({ id }: Pick<VectorStoreFile, "id">): boolean =>
  !id.startsWith("file-doc-");

export interface RemovalOptions {
  /** Whether the uploaded files are deleted too, from every collection. */
  withFiles: boolean;
  signal: AbortSignal;
  /** Told how many are gone. */
  onProgress?: (done: number) => void;
}

type Removed = Pick<VectorStoreFile, "id">;

export async function removeDocument(
  store: string,
  file: Removed,
  { withFiles, signal }: RemovalOptions,
): Promise<void> {
  await unlessGone(withKey(() => documents.removeFile(store, file.id, { signal }), signal));
  if (withFiles && isUploaded(file)) await deleteFile(file, signal);
}

const pageSize = 100;

export async function emptyCollection(store: string, options: RemovalOptions): Promise<void> {
  const { signal, onProgress } = options;
  let done = 0;
  for (;;) {
    // Always the first page: what is removed leaves it.
    const { data } = await withKey(() => documents.storeFiles(store, { limit: pageSize, signal }));
    if (data.length === 0) return;
    for (const file of data) {
      await removeDocument(store, file, options);
      done++;
      onProgress?.(done);
    }
  }
}

/** The files first: where one of them cannot be deleted, the collection still shows what is left. */
export async function deleteCollection(store: string, options: RemovalOptions): Promise<void> {
  const { withFiles, signal, onProgress } = options;
  const files = withFiles ? await uploadedFiles(store, signal) : [];
  for (const [at, file] of files.entries()) {
    await deleteFile(file, signal);
    onProgress?.(at + 1);
  }
  await unlessGone(withKey(() => documents.deleteStore(store, { signal }), signal));
}

async function uploadedFiles(store: string, signal: AbortSignal): Promise<Removed[]> {
  const files: Removed[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await withKey(() =>
      documents.storeFiles(store, { limit: pageSize, after, signal }),
    );
    files.push(...page.data.filter(isUploaded).map(({ id }) => ({ id })));
    if (!page.has_more || page.last_id === null) return files;
    after = page.last_id;
  }
}

const deleteFile = ({ id }: Removed, signal: AbortSignal): Promise<void> =>
  unlessGone(withKey(() => documents.deleteFile(id, { signal }), signal));

/** What somebody else has removed already is removed. */
async function unlessGone(removal: Promise<void>): Promise<void> {
  await removal.catch((error: unknown) => {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  });
}
