/** Rows of the queue: files to ingest, and passages to delete. */
import type { StoreFile } from "../../core/documents/records.ts";
import type { QueueRegistry, Removal } from "../../core/ports/document-registry.ts";
import type { OwnFile } from "../database.ts";
import type { Rows } from "./sqlite-documents.ts";
import { type StoreFileRow, toStoreFile } from "./store-file-rows.ts";

export class QueueRows implements Rows<QueueRegistry> {
  readonly #file: OwnFile;

  constructor(file: OwnFile) {
    this.#file = file;
  }

  queued(): number {
    return this.#file.number("select count(*) from store_files where status = 'in_progress'");
  }

  waitingOwners(): (string | undefined)[] {
    const sql = "select distinct owner from store_files where status = 'in_progress'";
    return this.#file.all<{ owner: string | null }>(sql).map(({ owner }) => owner ?? undefined);
  }

  nextOf(owner: string | undefined, except: ReadonlySet<string>): StoreFile | undefined {
    const row = this.#file.get<StoreFileRow>(
      `select * from store_files where status = 'in_progress' and owner is ?
         and store not in (select value from json_each(?)) order by seq limit 1`,
      ...[owner ?? null, JSON.stringify([...except])],
    );
    return row && toStoreFile(row);
  }

  begin(store: string, file: string): boolean {
    const sql = `update store_files set begun = 1
      where store = ? and file = ? and status = 'in_progress'`;
    return this.#file.run(sql, store, file) > 0;
  }

  settle({ store, file, status, failure, usageBytes, passages }: StoreFile): boolean {
    const sql = `update store_files set status = ?, failure_code = ?, failure_message = ?,
      usage_bytes = ?, passages = ? where store = ? and file = ? and status = 'in_progress'`;
    const why = [failure?.code ?? null, failure?.message ?? null];
    return this.#file.run(sql, status, ...why, usageBytes, passages, store, file) > 0;
  }

  removals(): Removal[] {
    const sql = "select collection, document from removals limit 1000";
    const rows = this.#file.all<{ collection: string; document: string }>(sql);
    return rows.map(({ collection, document }) => ({
      collection,
      document: document || undefined,
    }));
  }

  isRemoved({ collection, document = "" }: Removal): boolean {
    const sql = "select 1 from removals where collection = ? and document = ?";
    return this.#file.get(sql, collection, document) !== undefined;
  }

  addRemoval({ collection, document = "" }: Removal): void {
    const sql = "insert or ignore into removals (collection, document) values (?, ?)";
    this.#file.run(sql, collection, document);
  }

  removed({ collection, document = "" }: Removal): void {
    const sql = "delete from removals where collection = ? and document = ?";
    this.#file.run(sql, collection, document);
  }
}
