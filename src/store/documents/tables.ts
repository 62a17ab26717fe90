/** The tables of `documents.sqlite`. */
import type { Database } from "bun:sqlite";

const version = 1;

/** `seq` is the order of lists: two things of one second have one too. */
const tables = `
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
    own integer not null
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
  create index store_files_by_file on store_files (file);
  create index store_files_by_owner on store_files (owner, passages);
  create table batches (
    seq integer primary key autoincrement,
    id text not null unique,
    store text not null,
    created_at integer not null,
    cancelled integer not null default 0
  ) strict;
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
`;

/** Makes them where there are none; safe when two processes open the file at once. */
export function prepareTables(database: Database): void {
  if (versionOf(database) === version) return;
  database
    .transaction(() => {
      const found = versionOf(database);
      if (found === version) return;
      if (found > version) {
        throw new Error(
          `it was written by a newer Paddock (format ${found}; this one knows ${version})`,
        );
      }
      database.run(tables);
      database.run(`pragma user_version = ${version}`);
    })
    .immediate();
}

function versionOf(database: Database): number {
  const row = database.query<{ user_version: number }, []>("pragma user_version").get();
  return row?.user_version ?? 0;
}
