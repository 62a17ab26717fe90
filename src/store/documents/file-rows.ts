/** Rows of uploaded files. */
import type { FileUsage } from "../../core/documents/quota.ts";
import type { FileRecord } from "../../core/documents/records.ts";
import type { FileRegistry, Visibility } from "../../core/ports/document-registry.ts";
import { change, insert } from "../database.ts";
import type { OwnFile } from "../own-file.ts";
import { type Condition, pageOf } from "./pages.ts";
import type { Rows } from "./sqlite-documents.ts";
import { rememberRemoved } from "./store-file-row.ts";

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
    const seesMany = visible !== undefined && isMany(registry, visible);
    const { where, values } = visibleTo(visible, seesMany ? amongAll : amongTheirs);
    // By the index of purposes only where all files are visible: few of a purpose may be.
    const ofPurpose = `${visible === undefined ? "" : "+"}purpose = ? and ${where}`;
    const listing =
      purpose === undefined
        ? { where, values }
        : { where: ofPurpose, values: [purpose, ...values] };
    return pageOf(registry, { from: "files", id: "id", ...listing }, page, toFile);
  },

  removeFile(id) {
    registry.write((database) => {
      for (const sql of [
        `insert or ignore into removals (collection, document)
         select stores.collection, document from store_files
         join stores on stores.id = store where file = ?`,
        `${rememberRemoved} and file = ?`,
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

  fileUsage(owner) {
    const usage = registry.get<FileUsage>(
      `select coalesce(sum(bytes), 0) as bytes, coalesce(sum(files), 0) as files from uploads
       where owner = coalesce(?, owner)`,
      owner ?? null,
    );
    return usage ?? { bytes: 0, files: 0 };
  },
});

/** A caller's own files and those in its stores; all if it may see all. */
function visibleTo(visible: Visibility | undefined, inStores = amongAll): Condition {
  if (visible === undefined) return { where: "true", values: [] };
  const { owner, stores } = visible;
  return {
    where: `(owner = ? or ${inStores})`,
    values: [owner ?? null, JSON.stringify(stores)],
  };
}

const theirs = "store in (select value from json_each(?))";
/** Finds them by their stores: for a page, all of them are looked up and sorted. */
const amongTheirs = `id in (select file from store_files where ${theirs})`;
/** Looks each file up: those that are asked for, or, in the order of a list, all until its page is full. */
const amongAll = `exists (select 1 from store_files where file = files.id and ${theirs})`;

/** Whether so many files are visible that the page is full sooner than they are sorted. */
function isMany(registry: OwnFile, { owner, stores }: Visibility): boolean {
  const sql = `select count(*) from (
    select * from (select 1 from files where owner = ?)
    union all select * from (select 1 from store_files where ${theirs}) limit ?)`;
  return registry.number(sql, owner ?? null, JSON.stringify(stores), mostSorted) === mostSorted;
}

const mostSorted = 10_000;

const toFile = ({ seq, owner, created_at, expires_at, ...file }: Row): FileRecord => ({
  ...file,
  createdAt: new Date(created_at),
  ...(owner !== null && { owner }),
  ...(expires_at !== null && { expiresAt: new Date(expires_at) }),
});
