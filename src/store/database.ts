/** The node's own SQLite files: readable by their owner only, with tables of one version, also on a read-only disk. */
import { constants, Database, SQLiteError } from "bun:sqlite";
import {
  constants as access,
  accessSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";

export const ownerOnly = 0o600;
const folderOfOwner = 0o700;

export interface TablesOfVersion {
  version: number;
  /** What makes them. */
  sql: string;
  /** Makes them of those of an older version. */
  upgrade?: (database: Database, found: number) => void;
}

/** Opens or makes a file with these tables; one that can only be read is opened as it is. `pragmas`: set before its journal. */
export const openOwnDatabase = (
  path: string,
  tables: TablesOfVersion,
  pragmas: readonly string[] = [],
): Database => openOwn(path, (database) => prepareTables(database, tables), pragmas).database;

/** The same with tables that `prepare` makes; says whether the file can only be read. */
export function openOwn(
  path: string,
  prepare: (database: Database) => void,
  pragmas: readonly string[] = [],
): { database: Database; isReadOnly: boolean } {
  mkdirSync(dirname(path), { recursive: true, mode: folderOfOwner });
  let database: Database | undefined;
  try {
    // SQLite would make it readable by everyone; the files that it makes beside it get the same rights.
    if (!existsSync(path)) closeSync(openSync(path, "a", ownerOnly));
    database = new Database(path, { create: true, strict: true });
    database.run("pragma busy_timeout = 10000");
    for (const pragma of pragmas) database.run(`pragma ${pragma}`);
    database.run("pragma journal_mode = wal");
    database.run("pragma synchronous = full");
    prepare(database);
    return { database, isReadOnly: false };
  } catch (cause) {
    database?.close();
    const immutable = openImmutable(path, cause);
    if (immutable !== undefined) return { database: immutable, isReadOnly: true };
    throw cause;
  }
}

/** Makes them where there are none, and of older ones these; safe when two processes open the file at once. */
function prepareTables(database: Database, { version, sql, upgrade }: TablesOfVersion): void {
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
      if (found > 0 && upgrade !== undefined) upgrade(database, found);
      else database.run(sql);
      database.run(`pragma user_version = ${version}`);
    })
    .immediate();
}

function versionOf(database: Database): number {
  const row = database.query<{ user_version: number }, []>("pragma user_version").get();
  return row?.user_version ?? 0;
}

/**
 * Opens the database as immutable, after opening it as usual failed with `cause`. Undefined where the
 * disk is writable, or where a crash left a write-ahead log, which only a writer can apply.
 */
export function openImmutable(path: string, cause: unknown): Database | undefined {
  const isDisk =
    cause instanceof SQLiteError && /^SQLITE_(CANTOPEN|READONLY)/.test(cause.code ?? "");
  if (!isDisk || isWritable(dirname(path)) || hasBytes(`${path}-wal`)) return undefined;
  const escaped = path.replaceAll("%", "%25").replaceAll("?", "%3f").replaceAll("#", "%23");
  return new Database(
    `file:${escaped}?mode=ro&immutable=1`,
    constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI,
  );
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, access.W_OK);
    return true;
  } catch {
    return false;
  }
}

const hasBytes = (path: string): boolean =>
  (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;

/** Tells whether a file is still the one that was opened, by its inode, size and times. */

export interface FileStamp {
  /** The identity of the file: device and inode. */
  identity: string;
  /** Differs when the file was changed in any way. */
  state: string;
  size: number;
  /** When it was last changed, in milliseconds. */
  changedMs: number;
}

/** Undefined where there is no file. */
export function stampOf(path: string): FileStamp | undefined {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (file === undefined) return undefined;
  const { dev, ino, size, mtimeNs, ctimeNs } = file;
  return {
    identity: `${dev}:${ino}`,
    state: [dev, ino, size, mtimeNs, ctimeNs].join(":"),
    size: Number(size),
    changedMs: Math.max(Number(file.mtimeMs), Number(file.ctimeMs)),
  };
}
