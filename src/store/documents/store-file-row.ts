/** The row of a file in a vector store: how it is read and written. */
import type { Database } from "bun:sqlite";
import { type FailureCode, removedFrom, type StoreFile } from "../../core/documents/records.ts";
import { given } from "../../core/given.ts";
import type { PutFile } from "../../core/ports/document-registry.ts";
import { change, put, rowOf } from "../database.ts";

export const own = "store = ? and file = ?";

export const removeDocuments = `insert or ignore into removals (collection, document)
  select stores.collection, document from store_files join stores on stores.id = store`;
/** What is not known of a vector store that was made over HTTP is in no answer anyway. */
export const rememberRemoved = `insert or ignore into removals (collection, document)
  select '${removedFrom("")}' || stores.collection, document from store_files
  join stores on stores.id = store where stores.own = 0 and uploaded = 1`;

export interface StoreFileRow
  extends Pick<StoreFile, "store" | "file" | "filename" | "document" | "status" | "passages"> {
  attributes: string;
  failure_code: FailureCode | null;
  failure_message: string | null;
  usage_bytes: number;
  chunk_tokens: number | null;
  chunk_overlap: number | null;
  owner: string | null;
  created_at: number;
  uploaded: number;
  bytes?: number | null;
}

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

/** Where they are not given, it keeps those that it has. */
export function changeAttributes(database: Database, { store, file, attributes }: PutFile): void {
  if (attributes === undefined) return;
  const sql = `update store_files set attributes = ?1 where store = ?2 and file = ?3 and attributes <> ?1`;
  change(database, sql, JSON.stringify(attributes), store, file);
}

/** Adds or replaces a file; a replaced one keeps its place in lists. */
export function putStoreFile(database: Database, added: PutFile): void {
  const { store, file, filename, document, status, passages, attributes } = added;
  const before = `select attributes from store_files where ${own}`;
  const row = {
    ...{ store, file, filename, document, status, passages },
    attributes:
      attributes === undefined
        ? (rowOf<Pick<StoreFileRow, "attributes">>(database, before, store, file)?.attributes ??
          "{}")
        : JSON.stringify(attributes),
    failure_code: added.failure?.code ?? null,
    failure_message: added.failure?.message ?? null,
    usage_bytes: added.usageBytes,
    chunk_tokens: added.chunking?.maxTokens ?? null,
    chunk_overlap: added.chunking?.overlapTokens ?? null,
    owner: added.owner ?? null,
    created_at: added.createdAt.getTime(),
    uploaded: Number(added.isUploaded),
  };
  put(database, "store_files", row, "store, file");
  if (!added.isUploaded) return;
  const removed = "collection = ? || (select collection from stores where id = ?)";
  const sql = `delete from removals where ${removed} and document = ?`;
  change(database, sql, removedFrom(""), store, document);
}
