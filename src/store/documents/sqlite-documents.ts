/** The documents registry: a SQLite file in the data dir, read and written by its own thread. */
import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { leastFileBytes } from "../../core/documents/quota.ts";
import { noLog } from "../../core/log.ts";
import type { DocumentRegistry } from "../../core/ports/document-registry.ts";
import { OwnFile } from "../own-file.ts";
import { inThread } from "../thread-calls.ts";
import { fileRows } from "./file-rows.ts";
import { queueRows } from "./queue-rows.ts";
import { storeFileRows } from "./store-file-rows.ts";
import { countFromRestore, noteWrite, storeRows } from "./store-rows.ts";

export const documentsFile = "documents.sqlite";

/** How old the time of the last write may be in the file. */
const notedMs = 600_000;

const writing: ReadonlySet<string> = new Set([
  ...["addFile", "removeFile", "addStore", "changeStore", "touchStores", "removeStore"],
  ...["putStoreFiles", "changeAttributes", "removeStoreFile", "reconcile", "cancelBatch"],
  ...["expireStore", "begin", "settle", "queueAgain", "addRemoval", "removed"],
]);

/** Creates no file and no thread until one is needed. */
export const sqliteDocuments = (path: string, log = noLog): DocumentRegistry & AsyncDisposable =>
  inThread({
    target: "documents",
    args: [path],
    called: "Documents",
    file: { path, writing },
    log,
  });

/** The registry as rows of a SQLite file, for its thread. Creates no file until something is written. */
export function documentRows(path: string): Rows<DocumentRegistry> & Disposable {
  let notedAt = 0;
  const file = new OwnFile({
    path,
    tables: { version: 4, sql, upgrade },
    called: "The registry of documents",
    advice: "restore it from a backup, or move it away and run 'paddock documents recover'",
    onOpen: (database) => {
      notedAt = 0;
      try {
        countFromRestore(database, statSync(path), Date.now());
      } catch {
        // The disk is full or read-only: nothing can be deleted either.
      }
    },
    onWrite: (database) => {
      const now = Date.now();
      if (Math.abs(now - notedAt) < notedMs) return;
      noteWrite(database, now);
      notedAt = now;
    },
  });
  return {
    ...fileRows(file),
    ...storeRows(file),
    ...storeFileRows(file),
    ...queueRows(file),
    [Symbol.dispose]: () => file[Symbol.dispose](),
  };
}

/** The registry's port, or a part of it, with synchronous methods: as the thread implements it. What takes long is done in slices. */
export type Rows<Port> = {
  [Name in keyof Port]: Name extends "selection"
    ? Port[Name]
    : Port[Name] extends (...args: infer Args) => Promise<infer Result>
      ? (...args: Args) => Result
      : never;
};

const batchesByStore = "create index batches_by_store on batches (store, seq)";

const filesByPurpose = "create index files_by_purpose on files (purpose)";
/** Each search asks for them: thousands of others may wait. */
const begunFiles =
  "create index store_files_begun on store_files (store, document) where status = 'in_progress' and begun = 1";

/** What each owner's files take together: adding up a hundred thousand at every upload would hold up all others. Callers without a key are the owner with the empty name. */
const uploads = `
  create table uploads (
    owner text primary key,
    bytes integer not null,
    files integer not null
  ) strict, without rowid;
  create trigger file_added after insert on files begin
    insert into uploads values (coalesce(new.owner, ''), max(new.bytes, ${leastFileBytes}), 1)
      on conflict (owner) do update set bytes = bytes + excluded.bytes, files = files + 1;
  end;
  create trigger file_removed after delete on files begin
    update uploads set bytes = bytes - max(old.bytes, ${leastFileBytes}), files = files - 1
      where owner = coalesce(old.owner, '');
    delete from uploads where owner = coalesce(old.owner, '') and files = 0;
  end;
`;

/** The first format did not know who made a vector store. */
function upgrade(database: Database, found: number): void {
  if (found === 1) database.run("alter table stores add column owner text");
  if (found < 3) database.run(batchesByStore);
  database.run(filesByPurpose);
  database.run(begunFiles);
  database.run(uploads);
  database.run(`insert into uploads
    select coalesce(owner, ''), sum(max(bytes, ${leastFileBytes})), count(*) from files group by 1`);
}

/** `seq` is the order of lists, since two rows may have the same time. */
const sql = `
  create table files (
    seq integer primary key autoincrement,
    id text not null unique,
    filename text not null,
    bytes integer not null,
    sha256 text not null,
    type text not null,
    purpose text not null,
    owner text,
    created_at integer not null,
    expires_at integer
  ) strict;
  create index files_by_owner on files (owner, bytes);
  ${filesByPurpose};
  create index files_by_expiry on files (expires_at) where expires_at is not null;
  create table stores (
    seq integer primary key autoincrement,
    id text not null unique,
    collection text not null unique,
    name text not null,
    description text,
    metadata text not null,
    expires_days integer,
    created_at integer not null,
    last_active_at integer not null,
    state text not null,
    own integer not null,
    owner text
  ) strict;
  create table store_files (
    seq integer primary key autoincrement,
    store text not null,
    file text not null,
    filename text not null,
    document text not null,
    attributes text not null,
    status text not null,
    failure_code text,
    failure_message text,
    usage_bytes integer not null,
    passages integer not null,
    chunk_tokens integer,
    chunk_overlap integer,
    owner text,
    created_at integer not null,
    uploaded integer not null,
    begun integer not null default 0,
    unique (store, file)
  ) strict;
  create index store_files_by_status on store_files (store, status, usage_bytes);
  create index store_files_in_line on store_files (owner, seq) where status = 'in_progress';
  ${begunFiles};
  create index store_files_by_file on store_files (file);
  create index store_files_by_owner on store_files (owner, passages);
  create table batches (
    seq integer primary key autoincrement,
    id text not null unique,
    store text not null,
    created_at integer not null,
    cancelled integer not null default 0
  ) strict;
  ${batchesByStore};
  create table batch_files (
    batch text not null,
    store text not null,
    file text not null,
    primary key (batch, file)
  ) strict, without rowid;
  create table removals (
    collection text not null,
    document text not null,
    primary key (collection, document)
  ) strict, without rowid;
  ${uploads}
`;
