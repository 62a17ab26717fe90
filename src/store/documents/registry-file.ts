/** The file of the registry: opened when it is first needed, readable by its owner only. */
import type { Database } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { basename } from "node:path";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { openOwnDatabase, type TablesOfVersion } from "../database.ts";
import { remedyFor } from "../sqlite/collection-file.ts";

/** A part of the registry's port as the thread has it, where nothing has to be waited for. */
export type Rows<Part> = {
  [Name in keyof Part]: Part[Name] extends (...args: infer Args) => Promise<infer Result>
    ? (...args: Args) => Result
    : never;
};

export class RegistryFile implements Disposable {
  readonly #path: string;
  #database: Database | undefined;

  /** No file is made until something is written. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Asks the registry; `nothing` is the answer where there is none yet. */
  read<Result>(query: (database: Database) => Result, nothing: Result): Result {
    if (this.#database === undefined && !isThere(this.#path)) return nothing;
    return this.#translating("read", () => query(this.#open()));
  }

  /** Changes it, all or nothing. */
  write<Result>(change: (database: Database) => Result): Result {
    return this.#translating("written", () => {
      const database = this.#open();
      return database.transaction(() => change(database)).immediate();
    });
  }

  [Symbol.dispose](): void {
    this.#database?.close();
    this.#database = undefined;
  }

  #open(): Database {
    if (this.#database === undefined) {
      checkJournal(this.#path);
      this.#database = openOwnDatabase(this.#path, documentTables);
    }
    return this.#database;
  }

  #translating<Result>(what: string, work: () => Result): Result {
    try {
      return work();
    } catch (cause) {
      if (cause instanceof NodeError) throw cause;
      throw new NodeError(
        "unavailable",
        `The registry of documents cannot be ${what}: ${remedyFor(cause) ?? `${reasonOf(cause)}; restore it from a backup, or move it away and run 'paddock documents recover'`}. Its file is ${this.#path}.`,
        { cause },
      );
    }
  }
}

/** An empty file is no registry: what was in it is lost, and nothing follows from what it does not know. */
export const isThere = (path: string): boolean => existsSync(path) && statSync(path).size > 0;

/** SQLite would delete what a process that was killed left beside a registry which is somewhere else now. */
function checkJournal(path: string): void {
  const journal = `${path}-wal`;
  if (isThere(path) || !isThere(journal)) return;
  throw new NodeError(
    "unavailable",
    `The registry of documents is missing, and ${basename(journal)} still has changes that belong to it. Move ${basename(path)} back beside it, or move that file away too.`,
  );
}

// The tables of `documents.sqlite`.

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

const documentTables: TablesOfVersion = { version: 1, sql };
