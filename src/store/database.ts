/** Opens the node's SQLite files: readable by their owner only, with versioned tables, even on a read-only disk. */
import { constants, Database, SQLiteError, type SQLQueryBindings } from "bun:sqlite";
import {
  constants as access,
  accessSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  statSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { hasCode, NodeError, reasonOf } from "../core/errors.ts";
import { logOf, setForeignLogAside } from "./foreign-log.ts";

export const ownerOnly = 0o600;
export const folderOfOwner = 0o700;

export interface TablesOfVersion {
  version: number;
  sql: string;
  upgrade?: (database: Database, found: number) => void;
}

/** How long after the last change the log is emptied. */
export const idleMs = 1000;

/** Also overwrites what was deleted, and is still in the log until then. */
export const emptyLog = (database: Database): void => {
  database.run("pragma wal_checkpoint(truncate)");
};

/** Numbers a new file's changes from anywhere on, so that no other has the same. */
export const numberChanges = (database: Database): void =>
  void database.run(`pragma application_id = ${(Math.random() * 2 ** 31) | 0}`);

/** The same where nobody reads the log right now, without waiting. */
export function emptyLogIfFree(database: Database): void {
  database.run("pragma busy_timeout = 0");
  try {
    emptyLog(database);
  } finally {
    database.run(`pragma busy_timeout = ${usualWaitMs}`);
  }
}

/** The number of the last change. */
export const changeOf = (database: Database): number => numberOf(database, "pragma application_id");

/** Numbers the change, so that its log can be told from another's. */
export const inTransaction = <Result>(database: Database, change: () => Result): Result =>
  database
    .transaction(() => {
      database.run(`pragma application_id = ${(changeOf(database) + 1) | 0}`);
      return change();
    })
    .immediate();

export const rowsOf = <Row>(
  database: Database,
  sql: string,
  ...values: SQLQueryBindings[]
): Row[] => database.query<Row, SQLQueryBindings[]>(sql).all(...values);

export const rowOf = <Row>(
  database: Database,
  sql: string,
  ...values: SQLQueryBindings[]
): Row | undefined => database.query<Row, SQLQueryBindings[]>(sql).get(...values) ?? undefined;

export const numberOf = (database: Database, sql: string, ...values: SQLQueryBindings[]): number =>
  Number(database.query<unknown, SQLQueryBindings[]>(sql).values(...values)[0]?.[0] ?? 0);

export const change = (database: Database, sql: string, ...values: SQLQueryBindings[]): number =>
  database.query<void, SQLQueryBindings[]>(sql).run(...values).changes;

type Columns = Readonly<Record<string, SQLQueryBindings>>;

export function insert(database: Database, table: string, row: Columns, onConflict = ""): number {
  const names = Object.keys(row);
  const places = names.map(() => "?").join(", ");
  const sql = `insert into ${table} (${names.join(", ")}) values (${places}) ${onConflict}`;
  return change(database, sql, ...Object.values(row));
}

export const orIgnore = "on conflict do nothing";

export function put(database: Database, table: string, row: Columns, key: string): void {
  const set = Object.keys(row).map((name) => `${name} = excluded.${name}`);
  insert(database, table, row, `on conflict (${key}) do update set ${set.join(", ")}`);
}

/** `values`: those of the condition. */
export function update(
  database: Database,
  table: string,
  columns: Columns,
  where: string,
  ...values: SQLQueryBindings[]
): number {
  const set = Object.keys(columns).map((name) => `${name} = ?`);
  const sql = `update ${table} set ${set.join(", ")} where ${where}`;
  return change(database, sql, ...Object.values(columns), ...values);
}

/** False for an empty file: its content is lost, and a missing record in it means nothing. */
export const isThere = (path: string): boolean =>
  // Another process may delete it in between, as SQLite does with a log.
  existsSync(path) && (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;

const usualWaitMs = 10_000;

export interface OpenOptions {
  /** Set before the journal mode. */
  pragmas?: readonly string[] | undefined;
  /** Whether to open the file read-only on a full disk, which has no room for its lock files: for a caller that follows changes by its stamp. */
  readsWhenFull?: boolean;
  /** How long to wait for locks of other processes; the thread stands still meanwhile. Default: 10 s. */
  waitMs?: number;
}

/** Opens or creates a file, with tables from `prepare`; a read-only one is opened as it is. */
export function openOwn(
  path: string,
  prepare: (database: Database) => void,
  { pragmas = [], readsWhenFull = false, waitMs = usualWaitMs }: OpenOptions = {},
): { database: Database; isReadOnly: boolean } {
  checkLog(path);
  mkdirSync(dirname(path), { recursive: true, mode: folderOfOwner });
  let database: Database | undefined;
  try {
    // SQLite would make it readable by everyone; the files it creates next to it get the same rights.
    if (path !== ":memory:" && !existsSync(path)) {
      // It may have been moved away since: beside an empty file, SQLite deletes the log.
      checkLog(path);
      closeSync(openSync(path, "a", ownerOnly));
    }
    database = new Database(path, { readwrite: true, create: false, strict: true });
    database.run(`pragma busy_timeout = ${waitMs}`);
    for (const pragma of pragmas) database.run(`pragma ${pragma}`);
    useLog(database, waitMs);
    database.run("pragma synchronous = full");
    prepare(database);
    return { database, isReadOnly: false };
  } catch (cause) {
    database?.close();
    const isReadOnly = isOnReadOnlyDisk(path, cause) || (readsWhenFull && isFull(cause));
    const immutable = isReadOnly ? openImmutable(path) : undefined;
    if (immutable !== undefined) return { database: immutable, isReadOnly: true };
    throw cause;
  }
}

/** SQLite would delete the log that a killed process left if the file itself was moved away, and write it into another file. */
export function checkLog(path: string): void {
  const log = logOf(path);
  // In this order: a process that makes both makes the log last.
  if (!isThere(log)) return;
  if (isThere(path)) {
    setForeignLogAside(path);
    return;
  }
  const why = `${basename(path)} is missing, and ${basename(log)} still has changes that belong to it. Move it back beside them, or move ${basename(log)} away too.`;
  throw new NodeError("unavailable", why);
}

const journalPauseMs = 2;

/** Tries to change a new file's journal, while another process does; SQLite itself does not always wait for that. */
function useLog(database: Database, waitMs: number): void {
  const end = performance.now() + waitMs;
  for (;;) {
    try {
      database.run("pragma journal_mode = wal");
      return;
    } catch (error) {
      if (!codeOf(error).startsWith("SQLITE_BUSY") || performance.now() >= end) throw error;
      Bun.sleepSync(journalPauseMs);
    }
  }
}

/** Creates or upgrades the tables; safe when two processes open the file at once. */
export function prepareTables(
  database: Database,
  { version, sql, upgrade }: TablesOfVersion,
): void {
  if (versionOf(database) === version) return;
  database
    .transaction(() => {
      const found = versionOf(database);
      if (found === version) return;
      if (found > version) {
        throw new Error(
          `it was written by a newer Paddock, which can use it (format ${found}; this one knows ${version})`,
        );
      }
      if (found > 0 && upgrade !== undefined) upgrade(database, found);
      else database.run(sql);
      if (found === 0) numberChanges(database);
      database.run(`pragma user_version = ${version}`);
    })
    .immediate();
}

export const versionOf = (database: Database): number => numberOf(database, "pragma user_version");

/** Undefined if a crash left a write-ahead log, which only a writer can apply. */
function openImmutable(path: string): Database | undefined {
  if (isThere(logOf(path))) return undefined;
  const escaped = path.replaceAll("%", "%25").replaceAll("?", "%3f").replaceAll("#", "%23");
  return new Database(
    `file:${escaped}?mode=ro&immutable=1`,
    constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI,
  );
}

const isOnReadOnlyDisk = (path: string, cause: unknown): boolean =>
  /^SQLITE_(CANTOPEN|READONLY)/.test(codeOf(cause)) && !isWritable(dirname(path));

/** Whether SQLite found no room on the disk; opening a file takes some for its lock files. */
export const isFull = (cause: unknown): boolean =>
  /^SQLITE_(FULL|IOERR_SHMSIZE)$/.test(codeOf(cause));

const codeOf = (error: unknown): string => (error instanceof SQLiteError ? (error.code ?? "") : "");

export function isWritable(folder: string): boolean {
  try {
    accessSync(folder, access.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Opens a SQLite file read-only, without creating or changing other files, even if it is in use. */
export function openReadOnly(path: string): Database {
  const url = pathToFileURL(path);
  const log = logOf(path);
  // With a write-ahead log, its index file is used read-only; without one, there is no writer.
  if (isThere(log) && existsSync(log.replace(/wal$/, "shm"))) {
    url.searchParams.set("mode", "ro");
    url.searchParams.set("readonly_shm", "1");
  } else url.searchParams.set("immutable", "1");
  const { SQLITE_OPEN_READONLY, SQLITE_OPEN_URI } = constants;
  return new Database(url.href, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

/** The ids of a table's rows, or why its file cannot be read; undefined if there is none. Changes nothing. */
export function inspectIds(path: string, table: string): string[] | Error | undefined {
  if (!isThere(path)) return undefined;
  try {
    using database = openReadOnly(path);
    const fault = rowOf<{ quick_check: string }>(database, "pragma quick_check(1)")?.quick_check;
    if (fault !== "ok") return new Error(`it is damaged (${fault})`);
    return rowsOf<{ id: string }>(database, `select id from ${table}`).map(({ id }) => id);
  } catch (error) {
    return error instanceof Error ? error : new Error(reasonOf(error));
  }
}

/** Explanations and remedies, by the prefix of SQLite's error code. */
const remedies = {
  SQLITE_FULL:
    "the disk is full. Free some space, then do it again; what was stored before is still there",
  SQLITE_READONLY:
    "it can only be read. Give this user the right to write to the data dir, mount its disk for writing, or free some space on it",
  SQLITE_CANTOPEN:
    "it or its lock files beside it cannot be opened. Give this user the right to read and write the data dir, or mount its disk for writing",
  SQLITE_BUSY: "another process keeps it locked. Wait until that has ended, then do it again",
  SQLITE_IOERR: "the disk does not read or write as it should. Look at it and at its free space",
};

export function remedyFor(error: unknown): string | undefined {
  const code = hasCode(error, "EACCES") ? "SQLITE_CANTOPEN" : codeOf(error);
  return Object.entries(remedies).find(([beginning]) => code.startsWith(beginning))?.[1];
}

export type FileStamp = ReturnType<typeof stampOf>;

/** Shows whether a file is still the one that was opened; undefined if there is none. */
export function stampOf(path: string) {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (file === undefined) return undefined;
  const { dev, ino, size, mtimeNs, ctimeNs } = file;
  return {
    identity: `${dev}:${ino}`,
    /** Differs if the file was changed in any way. */
    state: [dev, ino, size, mtimeNs, ctimeNs].join(":"),
    size: Number(size),
    changedMs: Math.max(Number(file.mtimeMs), Number(file.ctimeMs)),
  };
}
