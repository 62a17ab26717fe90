/** Opens the database of keys, readable by its owner only; on a read-only disk for reading. */
import { Database } from "bun:sqlite";
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { openImmutable } from "../immutable-database.ts";

export interface OpenKeys {
  database: Database;
  /** Whether changes of other processes are seen without opening it again. */
  followsChanges: boolean;
}

const ownerOnly = 0o600;
const folderOfOwner = 0o700;

const table = `
  create table if not exists keys (
    id text primary key,
    name text not null unique,
    scopes text not null,
    salt blob not null,
    digest blob not null,
    created_at integer not null,
    expires_at integer,
    revoked_at integer
  ) strict`;

/** Columns that files of earlier versions do not have. */
const laterColumns = {
  requests_per_minute: "integer",
  tokens_per_minute: "integer",
  concurrency: "integer",
  document_bytes: "integer",
  document_passages: "integer",
  vector_stores: "text",
} as const;

export function openKeys(path: string): OpenKeys {
  let database: Database | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: folderOfOwner });
    // SQLite would make it readable by everyone; the files that it makes beside it get the same rights.
    if (!existsSync(path)) closeSync(openSync(path, "a", ownerOnly));
    database = new Database(path, { create: true, strict: true });
    database.run("pragma busy_timeout = 10000");
    database.run("pragma journal_mode = wal");
    database.run("pragma synchronous = full");
    database.run(table);
    addLaterColumns(database);
    for (const suffix of ["", "-wal", "-shm"]) {
      const file = statSync(`${path}${suffix}`, { throwIfNoEntry: false });
      if (file !== undefined && (file.mode & 0o777) !== ownerOnly) {
        chmodSync(`${path}${suffix}`, ownerOnly);
      }
    }
    return { database, followsChanges: true };
  } catch (cause) {
    database?.close();
    const immutable = openImmutable(path, cause);
    if (immutable !== undefined) return { database: immutable, followsChanges: false };
    throw new NodeError(
      "unavailable",
      `The keys in ${path} cannot be opened: ${reasonOf(cause)}. Give this user the right to read and write it and its folder.`,
      { cause },
    );
  }
}

function addLaterColumns(database: Database): void {
  const missing = () => {
    const held = database
      .query<{ name: string }, []>("select name from pragma_table_info('keys')")
      .all()
      .map(({ name }) => name);
    return Object.entries(laterColumns).filter(([column]) => !held.includes(column));
  };
  if (missing().length === 0) return;
  // Two processes may migrate an old file at the same time, so the check is repeated inside the transaction.
  const add = database.transaction(() => {
    for (const [column, type] of missing()) {
      database.run(`alter table keys add column ${column} ${type}`);
    }
  });
  add.immediate();
}
