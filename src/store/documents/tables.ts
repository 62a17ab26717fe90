/** The tables of `documents.sqlite`. */
import type { TablesOfVersion } from "../own-database.ts";

/** `seq` is the order of lists: two things of one second have one too. */
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

export const documentTables: TablesOfVersion = { version: 1, sql };
