/** The file of the registry, and its tables. */
import { basename } from "node:path";
import { NodeError } from "../../core/errors.ts";
import { isThere, OwnFile } from "../database.ts";

/** A part of the registry's port as the thread has it, where nothing has to be waited for. */
export type Rows<Part> = {
  [Name in keyof Part]: Part[Name] extends (...args: infer Args) => Promise<infer Result>
    ? (...args: Args) => Result
    : never;
};

/** No file is made until something is written. */
export const registryFile = (path: string): OwnFile =>
  new OwnFile({
    path,
    tables: { version: 1, sql },
    called: "The registry of documents",
    advice: "restore it from a backup, or move it away and run 'paddock documents recover'",
    beforeOpen: () => checkJournal(path),
  });

/** SQLite would delete what a process that was killed left beside a registry which is somewhere else now. */
function checkJournal(path: string): void {
  const journal = `${path}-wal`;
  if (isThere(path) || !isThere(journal)) return;
  throw new NodeError(
    "unavailable",
    `The registry of documents is missing, and ${basename(journal)} still has changes that belong to it. Move ${basename(path)} back beside it, or move that file away too.`,
  );
}

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
