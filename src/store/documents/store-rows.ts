/** Rows of vector stores. */
import type { Database } from "bun:sqlite";
import type { Stats } from "node:fs";
import {
  droppedCollections,
  type StoreOutline,
  type StoreRecord,
} from "../../core/documents/records.ts";
import { given } from "../../core/given.ts";
import type { StoreRegistry } from "../../core/ports/document-registry.ts";
import { change, insert, inTransaction, numberOf, orIgnore, update } from "../database.ts";
import type { OwnFile } from "../own-file.ts";
import { pageOf } from "./pages.ts";
import type { Rows } from "./sqlite-documents.ts";
import { goneOf } from "./store-file-rows.ts";

interface OutlineRow extends Pick<StoreRecord, "id" | "collection" | "name" | "state"> {
  expires_days: number | null;
  created_at: number;
  last_active_at: number;
  own: number;
}

interface Row extends OutlineRow {
  description: string | null;
  metadata: string;
}

export const storeRows = (registry: OwnFile): Rows<StoreRegistry> => ({
  addStore(added, bounds) {
    const { metadata, expiresAfterDays, createdAt, lastActiveAt, isOwn, owner, ...store } = added;
    const row = {
      ...store,
      owner: owner ?? null,
      metadata: JSON.stringify(metadata),
      expires_days: expiresAfterDays ?? null,
      created_at: createdAt.getTime(),
      last_active_at: lastActiveAt.getTime(),
      own: Number(isOwn),
    };
    return registry.write((database) => {
      const hasRoom =
        bounds === undefined ||
        (numberOf(database, "select count(*) from stores") < bounds.most &&
          numberOf(database, "select count(*) from stores where owner = ?", row.owner) <
            bounds.mostOwn);
      return hasRoom && insert(database, "stores", row, orIgnore) > 0;
    });
  },

  store(id) {
    const row = registry.get<Row>("select * from stores where id = ?", id);
    return row && toStore(row);
  },

  storeOf(collection) {
    const row = registry.get<Row>("select * from stores where collection = ?", collection);
    return row && toStore(row);
  },

  stores(page, ids) {
    const listing = {
      from: "stores",
      id: "id",
      where: ids === undefined ? "true" : "id in (select value from json_each(?))",
      values: ids === undefined ? [] : [JSON.stringify(ids)],
    };
    return pageOf(registry, listing, page, toStore);
  },

  outlines(ids) {
    const where = ids === undefined ? "true" : "id in (select value from json_each(?))";
    const values = ids === undefined ? [] : [JSON.stringify(ids)];
    const sql = `select ${outlined} from stores where ${where} order by seq`;
    return registry.all<OutlineRow>(sql, ...values).map(toOutline);
  },

  changeStore(id, wanted) {
    const { name, description, metadata, expiresAfterDays, state } = wanted;
    const columns = given({
      ...{ name, description, state, expires_days: expiresAfterDays },
      metadata: metadata && JSON.stringify(metadata),
    });
    if (Object.keys(columns).length === 0) return;
    registry.write((database) => update(database, "stores", { ...columns }, "id = ?", id));
  },

  touchStores(ids, lastActiveAt, before) {
    // Many requests may ask at once, and each row that is written is written with its texts.
    const sql =
      "update stores set last_active_at = ? where id in (select value from json_each(?)) and last_active_at < ?";
    registry.write((database) =>
      change(database, sql, lastActiveAt.getTime(), JSON.stringify(ids), before.getTime()),
    );
  },

  removeStore(id, { collection, ifNoneUploaded = false }) {
    registry.write((database) => {
      const uploads = "select count(*) from store_files where store = ? and uploaded = 1";
      if (ifNoneUploaded && numberOf(database, uploads, id) > 0) return;
      empty(database, id);
      if (collection) change(database, dropCollection, id);
      change(database, rememberDropped, droppedCollections, id);
      change(database, "delete from stores where id = ?", id);
    });
  },

  expireStore(id) {
    registry.write((database) => {
      empty(database, id);
      change(database, dropCollection, id);
      change(database, "update stores set state = 'expired' where id = ?", id);
    });
  },
});

/** Later than its newest time by so much, a file was put there by others: it may be a backup. */
const restoredMs = 3_600_000;

/** A registry from a backup knows no uses since: what expires some time after the last one does so after `now`. */
export function countFromRestore(
  database: Database,
  { birthtimeMs, mtimeMs, ctimeMs }: Pick<Stats, "birthtimeMs" | "mtimeMs" | "ctimeMs">,
  now: number,
): void {
  const newest = Math.max(numberOf(database, newestTime), writtenAt(database));
  // A backup that was renamed into its place has only the last of them from then.
  if (newest === 0 || Math.max(birthtimeMs, mtimeMs, ctimeMs) - newest < restoredMs) return;
  const sql = "expires_days is not null and state = 'ready' and last_active_at < ?";
  if (numberOf(database, `select count(*) from stores where ${sql}`, now) === 0) return;
  inTransaction(database, () => update(database, "stores", { last_active_at: now }, sql, now));
}

/** In the file, since not every write leaves a newer time in its rows: a deletion leaves none. */
export function noteWrite(database: Database, now: number): void {
  change(database, "create table if not exists last_write (at integer not null) strict");
  change(database, "delete from last_write");
  insert(database, "last_write", { at: now });
}

/** 0 in a file that an older Paddock wrote. */
function writtenAt(database: Database): number {
  const isNoted = "select count(*) from sqlite_master where name = 'last_write'";
  return numberOf(database, isNoted) === 0 ? 0 : numberOf(database, "select at from last_write");
}

const newestTime = `select max(at) from (select max(last_active_at) as at from stores ${[
  ...["files", "store_files", "batches"],
]
  .map(
    (table) =>
      `union all select created_at from ${table} where seq = (select max(seq) from ${table})`,
  )
  .join(" ")})`;

/** Documents need not be removed one by one: the whole collection is dropped. */
function empty(database: Database, id: string): void {
  const collection = "collection = (select collection from stores where id = ?)";
  change(database, `delete from removals where ${collection}`, id);
  change(
    database,
    "delete from batch_files where batch in (select id from batches where store = ?)",
    id,
  );
  for (const table of ["batches", "store_files"]) {
    change(database, `delete from ${table} where store in (?, ?)`, id, goneOf(id));
  }
}

const dropCollection =
  "insert or ignore into removals (collection, document) select collection, '' from stores where id = ?";

/** Others may make one of theirs again, by the same name. */
const rememberDropped =
  "insert or ignore into removals (collection, document) select ?, collection from stores where id = ? and own";

const outlined = "id, collection, name, expires_days, created_at, last_active_at, state, own";

const toStore = (row: Row): StoreRecord => ({
  ...toOutline(row),
  metadata: JSON.parse(row.metadata),
  ...(row.description !== null && { description: row.description }),
});

const toOutline = ({ id, collection, name, state, ...row }: OutlineRow): StoreOutline => ({
  ...{ id, collection, name, state },
  createdAt: new Date(row.created_at),
  lastActiveAt: new Date(row.last_active_at),
  isOwn: row.own === 1,
  ...(row.expires_days !== null && { expiresAfterDays: row.expires_days }),
});
