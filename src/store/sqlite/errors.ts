/** SQLite's errors, explained with what the operator can do about them. */
import { SQLiteError } from "bun:sqlite";
import { NodeError, reasonOf } from "../../core/errors.ts";

/** What to do about a refusal, by the beginning of SQLite's code for it. */
const remedies: readonly (readonly [string, string])[] = [
  [
    "SQLITE_FULL",
    "the disk is full. Free some space, then do it again; what was stored before is kept",
  ],
  [
    "SQLITE_READONLY",
    "it can only be read. Give this user the right to write to the data dir, or mount its disk for writing",
  ],
  [
    "SQLITE_CANTOPEN",
    "it or its lock files beside it cannot be opened. Give this user the right to read and write the data dir, or mount its disk for writing",
  ],
  ["SQLITE_BUSY", "another process keeps it locked. Wait until that has ended, then do it again"],
  [
    "SQLITE_IOERR",
    "the disk does not read or write as it should. Look at it and at its free space",
  ],
];

/** The explanation of an error; undefined where there is none. */
export function remedyFor(error: unknown): string | undefined {
  if (!(error instanceof SQLiteError)) return undefined;
  const { code = "" } = error;
  return remedies.find(([beginning]) => code.startsWith(beginning))?.[1];
}

/** Runs a write to a collection, and explains SQLite's errors. */
export function writing<Result>(collection: string, write: () => Result): Result {
  try {
    return write();
  } catch (cause) {
    const remedy = remedyFor(cause);
    if (remedy === undefined) throw cause;
    throw new NodeError(
      "unavailable",
      `The collection '${collection}' cannot be written: ${remedy}. (${reasonOf(cause)})`,
      { cause },
    );
  }
}
