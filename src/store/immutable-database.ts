/** Opens databases on a read-only disk, where SQLite cannot make its lock files. */
import { constants, Database, SQLiteError } from "bun:sqlite";
import { constants as access, accessSync, statSync } from "node:fs";
import { dirname } from "node:path";

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
