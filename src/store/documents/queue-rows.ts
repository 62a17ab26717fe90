/** Rows of the queue that ingests files, and of what is to be deleted. */
import type { QueueRegistry } from "../../core/ports/document-registry.ts";
import type { OwnFile } from "../own-file.ts";
import type { Rows } from "./sqlite-documents.ts";
import { own, type StoreFileRow, toStoreFile } from "./store-file-row.ts";
import { documentsOf, waitingOf } from "./store-file-rows.ts";

export const queueRows = (registry: OwnFile): Rows<QueueRegistry> => ({
  check() {
    this.queued();
    registry.checkWritten();
  },

  queued(owner) {
    return registry.number(`select count(*) from store_files where ${waitingOf}`, owner ?? null);
  },

  waitingOwners() {
    const sql = "select distinct owner from store_files where status = 'in_progress'";
    return registry.all<{ owner: string | null }>(sql).map(({ owner }) => owner ?? undefined);
  },

  nextOf(owner, except) {
    const row = registry.get<StoreFileRow>(
      `with passed as (select value from json_each(?))
       select * from store_files where status = 'in_progress' and owner is ?
         and store not in passed and store || '/' || file not in passed order by seq limit 1`,
      ...[JSON.stringify([...except]), owner ?? null],
    );
    return row && toStoreFile(row);
  },

  begin(store, file) {
    const sql = `update store_files set begun = 1 where ${own} and status = 'in_progress'`;
    return registry.run(sql, store, file) > 0;
  },

  settle({ store, file, status, failure, usageBytes, passages }) {
    const sql = `update store_files set status = ?, failure_code = ?, failure_message = ?,
      usage_bytes = ?, passages = ? where ${own} and status = 'in_progress'`;
    const why = [failure?.code ?? null, failure?.message ?? null];
    return registry.run(sql, status, ...why, usageBytes, passages, store, file) > 0;
  },

  queueAgain(store, files) {
    const sql = `update store_files set status = 'in_progress', begun = 0, usage_bytes = 0, passages = 0
      where store = ? and status = 'completed' and uploaded = 1
        and file in (select value from json_each(?))`;
    registry.run(sql, store, JSON.stringify(files));
  },

  removals(except = []) {
    // Names of collections come after '+'; what is in the place of one, before.
    const sql = `select collection, document from removals where collection > '+'
      and collection not in (select value from json_each(?)) limit 1000`;
    const skipped = JSON.stringify(except);
    const rows = registry.all<{ collection: string; document: string }>(sql, skipped);
    return rows.map(({ collection, document }) => ({
      collection,
      document: document || undefined,
    }));
  },

  deletions() {
    return documentsOf(registry, "select document from removals where collection = ''");
  },

  isRemoved({ collection, document = "" }) {
    const sql = "select 1 from removals where collection = ? and document = ?";
    return registry.get(sql, collection, document) !== undefined;
  },

  addRemoval({ collection, document = "" }) {
    const sql = "insert or ignore into removals (collection, document) values (?, ?)";
    registry.run(sql, collection, document);
  },

  removed({ collection, document = "" }) {
    const ofCollection = "delete from removals where collection = ?";
    if (document === "") registry.run(ofCollection, collection);
    else registry.run(`${ofCollection} and document = ?`, collection, document);
  },
});
