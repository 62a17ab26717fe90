/** Batches between the wire and the domain. */
import type { BatchView } from "../../../core/documents/file-batch-service.ts";
import type { AddedFile } from "../../../core/documents/store-file-service.ts";
import { refuse } from "../../wire/refuse.ts";
import { toSeconds } from "../../wire/unix-time.ts";
import { toAddedFile, toAddedFiles } from "../vector-store-files/wire.ts";
import { toCounts } from "../vector-stores/wire.ts";
import type { FileBatch, FileBatchRequest } from "./schema.ts";

export const toFileBatch = ({ batch, counts, status }: BatchView): FileBatch => ({
  id: batch.id,
  object: "vector_store.files_batch",
  created_at: toSeconds(batch.createdAt),
  vector_store_id: batch.store,
  status,
  file_counts: toCounts(counts),
});

export function toBatchFiles({ file_ids: ids, files, ...rest }: FileBatchRequest): AddedFile[] {
  if (ids && files) throw refuse("files", "excludes 'file_ids'; send one of the two");
  if (files) {
    for (const name of ["attributes", "chunking_strategy"] as const) {
      if (rest[name]) throw refuse(name, "holds for 'file_ids'; with 'files' say it of each");
    }
    return files.map((file, index) => toAddedFile(file, `files[${index}].`));
  }
  if (!ids) throw refuse("file_ids", "is required: a list of ids of uploaded files, or 'files'");
  return toAddedFiles({ file_ids: ids, ...rest });
}
