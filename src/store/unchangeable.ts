/** Databases on a disk that can only be read: without their lock files, which cannot be made there. */
import { constants, Database, SQLiteError } from "bun:sqlite";
import { constants as access, accessSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * The database as something that cannot change, after opening it as usual failed with `cause`;
 * undefined where its disk can be written, or where a crash left changes that only a writer can
 * bring in.
 */
export function openUnchangeable(path: string, cause: unknown): Database | undefined {
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
