/** A file in a vector store, to and from its row. */
import type { Database, SQLQueryBindings } from "bun:sqlite";
import type { FailureCode, FileStatus, StoreFile } from "../../core/documents/records.ts";
import { given } from "../../core/given.ts";

export interface StoreFileRow {
  seq: number;
  store: string;
  file: string;
  filename: string;
  document: string;
  attributes: string;
  status: FileStatus;
  failure_code: FailureCode | null;
  failure_message: string | null;
  usage_bytes: number;
  passages: number;
  chunk_tokens: number | null;
  chunk_overlap: number | null;
  owner: string | null;
  created_at: number;
  uploaded: number;
  bytes: number | null;
}

/** Files of vector stores, with what is known of the uploads that they are. */
export const storeFilesTable =
  "(select store_files.*, files.bytes as bytes from store_files left join files on files.id = store_files.file)";

export function toStoreFile(row: StoreFileRow): StoreFile {
  const { store, file, filename, document, status, passages } = row;
  const { failure_code: code, chunk_tokens: maxTokens } = row;
  return {
    ...{ store, file, filename, document, status, passages },
    attributes: JSON.parse(row.attributes),
    usageBytes: row.usage_bytes,
    createdAt: new Date(row.created_at),
    isUploaded: row.uploaded === 1,
    ...given({
      bytes: row.bytes ?? undefined,
      owner: row.owner ?? undefined,
      failure: code === null ? undefined : { code, message: row.failure_message ?? "" },
      chunking:
        maxTokens === null ? undefined : { maxTokens, overlapTokens: row.chunk_overlap ?? 0 },
    }),
  };
}

const insert = `
  insert into store_files (store, file, filename, document, attributes, status, failure_code,
    failure_message, usage_bytes, passages, chunk_tokens, chunk_overlap, owner, created_at, uploaded)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  on conflict (store, file) do update set
    attributes = excluded.attributes, status = excluded.status,
    failure_code = excluded.failure_code, failure_message = excluded.failure_message,
    usage_bytes = excluded.usage_bytes, passages = excluded.passages,
    chunk_tokens = excluded.chunk_tokens, chunk_overlap = excluded.chunk_overlap,
    owner = excluded.owner, created_at = excluded.created_at, uploaded = excluded.uploaded`;

/** Stores it, or puts it in the place of what it was; its place in lists stays. */
export function putStoreFile(database: Database, put: StoreFile): void {
  database
    .query<void, SQLQueryBindings[]>(insert)
    .run(
      ...[put.store, put.file, put.filename, put.document, JSON.stringify(put.attributes)],
      ...[put.status, put.failure?.code ?? null, put.failure?.message ?? null],
      ...[put.usageBytes, put.passages],
      ...[put.chunking?.maxTokens ?? null, put.chunking?.overlapTokens ?? null],
      ...[put.owner ?? null, put.createdAt.getTime(), Number(put.isUploaded)],
    );
}
