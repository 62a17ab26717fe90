/** Rows of vector stores. */
import type { Database, SQLQueryBindings } from "bun:sqlite";
import type { StoreRecord, StoreState } from "../../core/documents/records.ts";
import { given } from "../../core/given.ts";
import type { Page, PageRequest } from "../../core/page.ts";
import type { StoreChange, StoreRegistry } from "../../core/ports/document-registry.ts";
import type { OwnFile } from "../database.ts";
import { pageOf } from "./sql-conditions.ts";
import type { Rows } from "./sqlite-documents.ts";

interface Row {
  id: string;
  collection: string;
  name: string;
  description: string | null;
  metadata: string;
  expires_days: number | null;
  created_at: number;
  last_active_at: number;
  state: StoreState;
  own: number;
}

export class StoreRows implements Rows<StoreRegistry> {
  readonly #file: OwnFile;

  constructor(file: OwnFile) {
    this.#file = file;
  }

  addStore(store: StoreRecord, most = Number.MAX_SAFE_INTEGER): boolean {
    const added = this.#file.run(
      `insert or ignore into stores (id, collection, name, description, metadata, expires_days,
         created_at, last_active_at, state, own)
       select ?, ?, ?, ?, ?, ?, ?, ?, ?, ? where (select count(*) from stores) < ?`,
      ...[store.id, store.collection, store.name, store.description ?? null],
      ...[JSON.stringify(store.metadata), store.expiresAfterDays ?? null],
      ...[store.createdAt.getTime(), store.lastActiveAt.getTime(), store.state],
      ...[Number(store.isOwn), most],
    );
    return added > 0;
  }

  store(id: string): StoreRecord | undefined {
    return this.#find("id = ?", id);
  }

  storeOf(collection: string): StoreRecord | undefined {
    return this.#find("collection = ?", collection);
  }

  stores(page: PageRequest, ids?: readonly string[]): Page<StoreRecord> {
    const listing = {
      from: "stores",
      id: "id",
      where: ids === undefined ? [] : ["id in (select value from json_each(?))"],
      values: ids === undefined ? [] : [JSON.stringify(ids)],
    };
    return pageOf(this.#file, listing, page, toStore);
  }

  allStores(): StoreRecord[] {
    return this.#file.all<Row>("select * from stores order by seq").map(toStore);
  }

  changeStore(id: string, change: StoreChange): void {
    const columns: Record<string, SQLQueryBindings | undefined> = {
      name: change.name,
      description: change.description,
      metadata: change.metadata && JSON.stringify(change.metadata),
      expires_days: change.expiresAfterDays,
      last_active_at: change.lastActiveAt?.getTime(),
      state: change.state,
    };
    const set = Object.entries(given(columns));
    if (set.length === 0) return;
    this.#file.run(
      `update stores set ${set.map(([name]) => `${name} = ?`).join(", ")} where id = ?`,
      ...[...set.map(([, value]) => value ?? null), id],
    );
  }

  removeStore(id: string, drops: { collection: boolean }): void {
    this.#file.write((database) => {
      empty(database, id);
      if (drops.collection) run(database, dropCollection, id);
      run(database, "delete from stores where id = ?", id);
    });
  }

  expireStore(id: string): void {
    this.#file.write((database) => {
      empty(database, id);
      run(database, dropCollection, id);
      run(database, "update stores set state = 'expired' where id = ?", id);
    });
  }

  #find(where: string, value: string): StoreRecord | undefined {
    const row = this.#file.get<Row>(`select * from stores where ${where}`, value);
    return row && toStore(row);
  }
}

/** Documents need not be removed one by one: the whole collection is dropped. */
function empty(database: Database, id: string): void {
  const collection = "collection = (select collection from stores where id = ?)";
  run(database, `delete from removals where ${collection}`, id);
  for (const table of ["batch_files", "batches", "store_files"]) {
    run(database, `delete from ${table} where store = ?`, id);
  }
}

const dropCollection =
  "insert or ignore into removals (collection, document) select collection, '' from stores where id = ?";

const run = (database: Database, query: string, id: string): unknown =>
  database.query<void, [string]>(query).run(id);

function toStore(row: Row): StoreRecord {
  return {
    id: row.id,
    collection: row.collection,
    name: row.name,
    metadata: JSON.parse(row.metadata),
    createdAt: new Date(row.created_at),
    lastActiveAt: new Date(row.last_active_at),
    state: row.state,
    isOwn: row.own === 1,
    ...given({
      description: row.description ?? undefined,
      expiresAfterDays: row.expires_days ?? undefined,
    }),
  };
}
