/** Opens a SQLite file read-only, without making or changing any file beside it, whoever else has it open. */
import { constants, Database } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";

export function openReadOnly(path: string): Database {
  const url = pathToFileURL(path);
  // With a write-ahead log, its index file is used read-only; without one, nobody is writing.
  const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (hasLog && existsSync(`${path}-shm`)) {
    url.searchParams.set("mode", "ro");
    url.searchParams.set("readonly_shm", "1");
  } else url.searchParams.set("immutable", "1");
  const { SQLITE_OPEN_READONLY, SQLITE_OPEN_URI } = constants;
  return new Database(url.href, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}
