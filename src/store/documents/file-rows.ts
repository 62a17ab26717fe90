/** Rows of uploaded files. */
import type { FileUsage } from "../../core/documents/quota.ts";
import type { FileRecord } from "../../core/documents/records.ts";
import type { FileRegistry, Visibility } from "../../core/ports/document-registry.ts";
import { change, insert } from "../database.ts";
import type { OwnFile } from "../own-file.ts";
import { type Condition, pageOf } from "./pages.ts";
import type { Rows } from "./sqlite-documents.ts";

interface Row extends Omit<FileRecord, "owner" | "createdAt" | "expiresAt"> {
  seq: number;
  owner: string | null;
  created_at: number;
  expires_at: number | null;
}

export const fileRows = (registry: OwnFile): Rows<FileRegistry> => ({
  addFile({ createdAt, expiresAt, ...file }) {
    const times = {
      created_at: createdAt.getTime(),
      expires_at: expiresAt?.getTime() ?? null,
    };
    registry.write((database) => {
      insert(database, "files", { ...file, ...times });
      // A file that was deleted, but recovered before its bytes were gone, is not deleted after all.
      change(database, "delete from removals where collection = '' and document = ?", file.id);
    });
  },

  findFiles(ids, visible) {
    const { where, values } = visibleTo(visible);
    const rows = registry.all<Row>(
      `select * from files where id in (select value from json_each(?)) and ${where}`,
      ...[JSON.stringify(ids), ...values],
    );
    const found = new Map(rows.map((row) => [row.id, toFile(row)]));
    return ids.flatMap((id) => found.get(id) ?? []);
  },

  files(page, { purpose, visible }) {
    const { where, values } = visibleTo(visible);
    const listing = {
      from: "files",
      id: "id",
      where: `coalesce(purpose = ?, true) and ${where}`,
      values: [purpose ?? null, ...values],
    };
    return pageOf(registry, listing, page, toFile);
  },

  removeFile(id) {
    registry.write((database) => {
      for (const sql of [
        `insert or ignore into removals (collection, document)
         select stores.collection, document from store_files
         join stores on stores.id = store where file = ?`,
        // By the batches of its stores: all rows of batches may be millions.
        `delete from batch_files where file = ?1 and batch in
           (select id from batches where store in (select store from store_files where file = ?1))`,
        "delete from store_files where file = ?",
        `insert or ignore into removals (collection, document)
         select '', id from files where id = ?`,
        "delete from files where id = ?",
      ]) {
        change(database, sql, id);
      }
    });
  },

  filesExpiredAt(now) {
    const sql = "select * from files where expires_at <= ? limit 100";
    return registry.all<Row>(sql, now.getTime()).map(toFile);
  },

  knownFiles(ids) {
    return registry.read<ReadonlySet<string> | undefined>(
      () => new Set(this.findFiles(ids).map(({ id }) => id)),
      undefined,
    );
  },

  fileUsage(least, owner) {
    const usage = registry.get<FileUsage>(
      `select coalesce(sum(max(bytes, ?)), 0) as bytes, count(*) as files from files
       ${owner === undefined ? "" : "where owner = ?"}`,
      ...[least, ...(owner === undefined ? [] : [owner])],
    );
    return usage ?? { bytes: 0, files: 0 };
  },
});

/** A caller's own files and those in its stores; all if it may see all. */
function visibleTo(visible: Visibility | undefined): Condition {
  if (visible === undefined) return { where: "true", values: [] };
  const { owner, stores } = visible;
  return {
    where: `(owner = ? or
      id in (select file from store_files where store in (select value from json_each(?))))`,
    values: [owner ?? null, JSON.stringify(stores)],
  };
}

const toFile = ({ seq, owner, created_at, expires_at, ...file }: Row): FileRecord => ({
  ...file,
  createdAt: new Date(created_at),
  ...(owner !== null && { owner }),
  ...(expires_at !== null && { expiresAt: new Date(expires_at) }),
});
