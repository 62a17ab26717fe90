/** The queue of files to be ingested, and of passages to be deleted, as rows. */
import type { SQLQueryBindings } from "bun:sqlite";
import type { StoreFile } from "../../core/documents/records.ts";
import type { QueueRegistry, Removal } from "../../core/ports/document-registry.ts";
import type { RegistryFile, Rows } from "./registry-file.ts";
import { type StoreFileRow, toStoreFile } from "./store-file-row.ts";

export class QueueRows implements Rows<QueueRegistry> {
  readonly #registry: RegistryFile;

  constructor(registry: RegistryFile) {
    this.#registry = registry;
  }

  queued(): number {
    return this.#registry.read((database) => {
      const count = database.query<{ count: number }, []>(
        "select count(*) as count from store_files where status = 'in_progress'",
      );
      return count.get()?.count ?? 0;
    }, 0);
  }

  waitingOwners(): (string | undefined)[] {
    return this.#registry.read(
      (database) =>
        database
          .query<{ owner: string | null }, []>(
            "select distinct owner from store_files where status = 'in_progress'",
          )
          .all()
          .map(({ owner }) => owner ?? undefined),
      [],
    );
  }

  nextOf(owner: string | undefined, except: ReadonlySet<string>): StoreFile | undefined {
    return this.#registry.read((database) => {
      const row = database
        .query<StoreFileRow, [string | null, string]>(
          `select * from store_files where status = 'in_progress' and owner is ?
             and store not in (select value from json_each(?)) order by seq limit 1`,
        )
        .get(owner ?? null, JSON.stringify([...except]));
      return row === null ? undefined : toStoreFile(row);
    }, undefined);
  }

  begin(store: string, file: string): boolean {
    return this.#change(
      `update store_files set begun = 1
       where store = ? and file = ? and status = 'in_progress'`,
      [store, file],
    );
  }

  settle({ store, file, status, failure, usageBytes, passages }: StoreFile): boolean {
    return this.#change(
      `update store_files set status = ?, failure_code = ?, failure_message = ?,
         usage_bytes = ?, passages = ?
       where store = ? and file = ? and status = 'in_progress'`,
      [status, failure?.code ?? null, failure?.message ?? null, usageBytes, passages, store, file],
    );
  }

  removals(): Removal[] {
    return this.#registry.read(
      (database) =>
        database
          .query<{ collection: string; document: string }, []>(
            "select collection, document from removals limit 1000",
          )
          .all()
          .map(({ collection, document }) => ({ collection, document: document || undefined })),
      [],
    );
  }

  isRemoved({ collection, document = "" }: Removal): boolean {
    return this.#registry.read(
      (database) =>
        database
          .query("select 1 from removals where collection = ? and document = ?")
          .get(collection, document) !== null,
      false,
    );
  }

  addRemoval({ collection, document = "" }: Removal): void {
    this.#change("insert or ignore into removals (collection, document) values (?, ?)", [
      collection,
      document,
    ]);
  }

  removed({ collection, document = "" }: Removal): void {
    this.#change("delete from removals where collection = ? and document = ?", [
      collection,
      document,
    ]);
  }

  #change(query: string, values: readonly SQLQueryBindings[]): boolean {
    return this.#registry.write(
      (database) => database.query<void, SQLQueryBindings[]>(query).run(...values).changes > 0,
    );
  }
}
