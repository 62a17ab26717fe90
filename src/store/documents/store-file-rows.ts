/** Rows of files in vector stores, and of their batches. */
import type { Database, SQLQueryBindings } from "bun:sqlite";
import {
  type FileStatus,
  fileIdOf,
  isAdopted,
  removedFrom,
  shownName,
} from "../../core/documents/records.ts";
import { given } from "../../core/given.ts";
import type {
  PutFile,
  StoreFileRegistry,
  StoreFilesOf,
} from "../../core/ports/document-registry.ts";
import { Turns } from "../../core/turns.ts";
import { change, insert, numberOf, orIgnore, rowsOf } from "../database.ts";
import type { OwnFile } from "../own-file.ts";
import { matches } from "./attribute-filter.ts";
import { type Condition, pageOf } from "./pages.ts";
import type { Rows } from "./sqlite-documents.ts";
import {
  changeAttributes,
  own,
  putStoreFile,
  rememberRemoved,
  removeDocuments,
  type StoreFileRow,
  toStoreFile,
} from "./store-file-row.ts";

const ofBatch = "file in (select file from batch_files where batch = ?)";
/** In place of a store: that of documents of the command line that are not in it now. */
export const goneOf = (store: string): string => `gone:${store}`;

/** Files whose attributes are read at a time: each may have 9 kB of them. */
const slice = 500;
/** Of selections, so that other calls are answered between their slices. */
const turns = new Turns();

type Judged = Pick<StoreFileRow, "file" | "document" | "status" | "attributes">;

export const storeFileRows = (registry: OwnFile): Rows<StoreFileRegistry> => ({
  putStoreFiles(files, { batch, maxQueue, maxOwn, owner, unchanged } = {}) {
    return registry.write((database) => {
      if (maxQueue !== undefined && waitingWith(database, files) > maxQueue) return "full";
      const waiting = owner === undefined ? 0 : waitingWith(database, files, owner);
      if (maxOwn !== undefined && waiting > maxOwn) return "full";
      const asBefore = `select count(*) from store_files
        where ${own} and status = ? and chunk_tokens is ? and coalesce(chunk_overlap, 0) = ?`;
      for (const { store, file, status, chunking } of unchanged ?? []) {
        const sizes = [chunking?.maxTokens ?? null, chunking?.overlapTokens ?? 0];
        if (numberOf(database, asBefore, store, file, status, ...sizes) === 0) return "changed";
      }
      // Otherwise rows are left over that nobody can see or remove.
      const isThere = `select count(*) from files join stores on stores.id = ?
        where files.id = ? and stores.state <> 'expired'`;
      for (const { store, file } of unchanged === undefined ? [] : files) {
        if (numberOf(database, isThere, store, file) === 0) return "changed";
      }
      if (batch !== undefined && !makePlace(database, batch.store, maxQueue)) return "full";
      const known = new Set(unchanged?.map(({ store, file }) => `${store}/${file}`));
      for (const file of files) {
        // A whole row is in seven indexes, and a request may have hundreds of them.
        if (known.has(`${file.store}/${file.file}`)) changeAttributes(database, file);
        else putStoreFile(database, file);
      }
      if (batch === undefined) return "put";
      const { id, store, createdAt } = batch;
      insert(database, "batches", { id, store, created_at: createdAt.getTime() });
      for (const { file } of files) {
        insert(database, "batch_files", { batch: id, store, file }, orIgnore);
      }
      return "put";
    });
  },

  inStore(store, files) {
    const sql = `select * from ${storeFilesTable}
      where store = ? and file in (select value from json_each(?))`;
    return registry.all<StoreFileRow>(sql, store, JSON.stringify(files)).map(toStoreFile);
  },

  attributesOf(files) {
    const sql = `select attributes from store_files where ${own}`;
    return files.map(({ store, file }) =>
      JSON.parse(registry.get<{ attributes: string }>(sql, store, file)?.attributes ?? "{}"),
    );
  },

  storeFiles(of, page) {
    const listing = { from: storeFilesTable, id: "file", ...conditionsOf(of) };
    return pageOf(registry, listing, page, toStoreFile);
  },

  counts(of) {
    const { where, values } = conditionsOf(of);
    const rows = registry.all<{ status: FileStatus; count: number }>(
      `select status, count(*) as count from store_files where ${where} group by status`,
      ...values,
    );
    const none = { in_progress: 0, completed: 0, failed: 0, cancelled: 0 };
    return { ...none, ...Object.fromEntries(rows.map(({ status, count }) => [status, count])) };
  },

  storeUsage(store) {
    return registry.number("select sum(usage_bytes) from store_files where store = ?", store);
  },

  passagesOf(owner) {
    const sum = "select sum(passages) from store_files";
    return owner === undefined
      ? registry.number(sum)
      : registry.number(`${sum} where owner = ?`, owner);
  },

  changeAttributes(store, file, attributes) {
    const sql = `update store_files set attributes = ? where ${own}`;
    registry.run(sql, JSON.stringify(attributes), store, file);
  },

  removeStoreFile(store, file) {
    registry.write((database) => {
      for (const sql of [
        `${removeDocuments} where ${own}`,
        `${rememberRemoved} and ${own}`,
        "delete from batch_files where batch in (select id from batches where store = ?) and file = ?",
        `delete from store_files where ${own}`,
      ]) {
        change(database, sql, store, file);
      }
    });
  },

  async selection({ id, collection }, filter, caller) {
    const found = new Map<string, boolean>();
    if (filter !== undefined) {
      const judge = (where: string, ...values: SQLQueryBindings[]): Judged | undefined => {
        const columns = "file, document, status, attributes";
        const sql = `select ${columns} from store_files where store = ? and ${where}`;
        const rows = registry.all<Judged>(sql, id, ...values);
        for (const { document, status, attributes } of rows) {
          const isFound = status === "completed" && matches(filter, JSON.parse(attributes));
          found.set(document, isFound);
        }
        return rows[slice - 1];
      };
      const newest = registry.number("select max(seq) from store_files");
      const after = "file > ? order by file limit ?";
      for (let last = judge(after, "", slice); last; last = judge(after, last.file, slice)) {
        await turns.next(caller);
      }
      // What came meanwhile may lie before what was read last.
      judge("seq > ?", newest);
    }
    const hidden = this.hidden(collection);
    const only = new Set<string>();
    const except = new Set(hidden);
    for (const [document, isFound] of found) {
      (isFound && !hidden.has(document) ? only : except).add(document);
    }
    const isShort = filter !== undefined && only.size <= except.size;
    return { hidden, documents: isShort ? { only } : { except } };
  },

  hidden(collection) {
    const documents = documentsOf(
      registry,
      `select document from removals where collection = ?
       union all select document from store_files
       where store = (select id from stores where collection = ?)
         and status = 'in_progress' and begun = 1`,
      ...[collection, collection],
    );
    return new Set(documents);
  },

  removedFrom(collection, documents) {
    const sql = `select document from removals where collection = ?
      and document in (select value from json_each(?))`;
    const values = [removedFrom(collection), JSON.stringify(documents)];
    return new Set(documentsOf(registry, sql, ...values));
  },

  filenameOf(file) {
    const sql = "select filename from store_files where file = ? limit 1";
    return registry.get<{ filename: string }>(sql, file)?.filename;
  },

  reconcile({ id: store, collection }, documents, createdAt) {
    const rows = registry.all<
      Pick<StoreFileRow, "file" | "document" | "status" | "passages" | "uploaded">
    >("select file, document, status, passages, uploaded from store_files where store = ?", store);
    const known = new Map(rows.map((row) => [row.file, row]));
    const all: [document: string, passages: number][] = JSON.parse(documents);
    const there = new Set(all.map(([document]) => document));
    const isWhole = rows.every(
      ({ document, status, passages, uploaded }) =>
        uploaded === 0 || status !== "completed" || passages === 0 || there.has(document),
    );
    const found = all.map(([document, passages]) => {
      return { file: fileIdOf(collection, document), document, passages };
    });
    const files = new Set(found.map(({ file }) => file));
    const gone = rows.filter(({ file, uploaded }) => uploaded === 0 && !files.has(file));
    const unknown = found.filter(({ file }) => !known.has(file) && !isAdopted(file));
    const names = unknown.map(({ document }) => document);
    const removed = this.removedFrom(collection, names);
    const changed = found.filter(({ file, document, passages }) => {
      const row = known.get(file);
      if (row === undefined) return !removed.has(document);
      return row.uploaded === 0 && row.passages !== passages;
    });
    if (gone.length + changed.length === 0) return isWhole;
    registry.write((database) => {
      const place = `update or replace store_files set store = ?, passages = ? where ${own}`;
      for (const { file } of gone) {
        // What was said of a document holds when it is back, with a collection that was away.
        change(database, `${place} and attributes <> '{}'`, goneOf(store), 0, store, file);
        change(database, `delete from store_files where ${own}`, store, file);
      }
      for (const { file, document, passages } of changed) {
        const isKnown = [store, goneOf(store)].some(
          (from) => change(database, place, store, passages, from, file) > 0,
        );
        if (isKnown) continue;
        putStoreFile(database, {
          ...{ store, file, document, filename: shownName(document), attributes: {} },
          ...{ isUploaded: false, status: "completed", usageBytes: 0, passages, createdAt },
        });
      }
    });
    return isWhole;
  },

  batch(store, id) {
    const sql = "select * from batches where store = ? and id = ?";
    const row = registry.get<{ created_at: number; cancelled: number }>(sql, store, id);
    if (row === undefined) return undefined;
    return { id, store, createdAt: new Date(row.created_at), isCancelled: row.cancelled === 1 };
  },

  cancelBatch(id) {
    return registry.write((database) => {
      change(database, "update batches set cancelled = 1 where id = ?", id);
      const waiting = `status = 'in_progress' and ${ofBatch}
        and store = (select store from batches where id = ?)`;
      const begun = `select * from store_files where begun = 1 and ${waiting}`;
      const rows = rowsOf<StoreFileRow>(database, begun, id, id);
      change(database, `${removeDocuments} where begun = 1 and ${waiting}`, id, id);
      const sql = `update store_files set status = 'cancelled', failure_code = null,
        failure_message = null where ${waiting}`;
      change(database, sql, id, id);
      return rows.map(toStoreFile);
    });
  },
});

export const documentsOf = (file: OwnFile, sql: string, ...values: SQLQueryBindings[]): string[] =>
  file.all<{ document: string }>(sql, ...values).map(({ document }) => document);

/** In progress, of an owner; null: of all. */
export const waitingOf = "status = 'in_progress' and owner is coalesce(?, owner)";

/** How many files are in progress once these are added, of all or of one owner. */
function waitingWith(database: Database, files: readonly PutFile[], owner?: string): number {
  const put = files.filter(
    (file) => file.status === "in_progress" && (owner ?? file.owner) === file.owner,
  );
  const others = `select count(*) from store_files where ${waitingOf}
    and (store, file) not in (select value ->> 0, value ->> 1 from json_each(?))`;
  const known = JSON.stringify(put.map(({ store, file }) => [store, file]));
  return put.length + numberOf(database, others, owner ?? null, known);
}

/** Batches that a vector store remembers, and older ones in progress: each may have thousands of rows, and counts to nobody's quota. */
const mostBatches = 100;

/** Forgets older batches that are finished; returns whether another may be added then. `most`: how many files those in progress may have. */
function makePlace(database: Database, store: string, most = Number.POSITIVE_INFINITY): boolean {
  const older = `select id from batches where store = ? order by seq desc limit -1 offset ${mostBatches - 1}`;
  const sql = `select id from (${older})
    where not exists (select * from batch_files join store_files using (store, file)
      where batch = id and status = 'in_progress')`;
  for (const { id } of rowsOf<{ id: string }>(database, sql, store)) {
    change(database, "delete from batches where id = ?", id);
    change(database, "delete from batch_files where batch = ?", id);
  }
  const left = `select count(*) from batch_files where batch in (${older})`;
  return numberOf(database, left, store) <= most;
}

function conditionsOf({ store, batch, status }: StoreFilesOf): Condition {
  const conditions = Object.entries(
    given({ "store = ?": store, [ofBatch]: batch, "status = ?": status }),
  );
  return {
    where: conditions.map(([condition]) => condition).join(" and "),
    values: conditions.map(([, value]) => value),
  };
}

const storeFilesTable =
  "(select store_files.*, files.bytes as bytes from store_files left join files on files.id = store_files.file)";
