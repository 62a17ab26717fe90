/** Rows of uploaded files. */
import type { FileUsage } from "../../core/documents/quota.ts";
import type { FileRecord } from "../../core/documents/records.ts";
import { given } from "../../core/given.ts";
import type { FileRegistry, Visibility } from "../../core/ports/document-registry.ts";
import { change, insert, type OwnFile } from "../database.ts";
import { type Condition, pageOf } from "./sql-conditions.ts";
import type { Rows } from "./sqlite-documents.ts";

type Row = {
  id: string;
  filename: string;
  bytes: number;
  sha256: string;
  type: string;
  purpose: string;
  owner: string | null;
  created_at: number;
  expires_at: number | null;
};

export const fileRows = (registry: OwnFile): Rows<FileRegistry> => ({
  addFile({ id, filename, bytes, sha256, type, purpose, owner, ...times }) {
    const row: Row = {
      ...{ id, filename, bytes, sha256, type, purpose, owner: owner ?? null },
      created_at: times.createdAt.getTime(),
      expires_at: times.expiresAt?.getTime() ?? null,
    };
    registry.write((database) => {
      insert(database, "files", row);
      // A file that was deleted, but recovered before its bytes were gone, is not deleted after all.
      change(database, "delete from removals where collection = '' and document = ?", id);
    });
  },

  find(ids, visible) {
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
        "delete from store_files where file = ?",
        "delete from batch_files where file = ?",
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

  known(ids) {
    return registry.read<ReadonlySet<string> | undefined>(
      () => new Set(this.find(ids).map(({ id }) => id)),
      undefined,
    );
  },

  usageOf(least, owner) {
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

function toFile({ id, filename, bytes, sha256, type, purpose, ...row }: Row): FileRecord {
  return {
    ...{ id, filename, bytes, sha256, type, purpose, createdAt: new Date(row.created_at) },
    ...given({
      owner: row.owner ?? undefined,
      expiresAt: row.expires_at === null ? undefined : new Date(row.expires_at),
    }),
  };
}
