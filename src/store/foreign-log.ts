/** Finds out whether a write-ahead log belongs to the SQLite file beside it, which SQLite itself cannot tell: it would write a former file's log into a backup that was put in its place. */
import { constants as access, Database } from "bun:sqlite";
import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
} from "node:fs";
import { pathToFileURL } from "node:url";
import { hasCode } from "../core/errors.ts";

let say = (_: string): void => {};

/** Who is told that a log was set aside, in any thread. */
export function tellOfLogs(told: typeof say): void {
  say = told;
}

export const logWasSetAside = (notice: string): void => say(notice);

/** How long a log has to look like another's: another process may be changing both right now. */
const certainAfterMs = 50;

/** The log of a link is beside the file that it leads to. */
export function logOf(path: string): string {
  try {
    return `${realpathSync(path)}-wal`;
  } catch {
    return `${path}-wal`;
  }
}

/** Copies a log that is another file's, and empties it, since a process may have it open. */
export function setForeignLogAside(path: string): void {
  const log = logOf(path);
  if (!isForeign(path, log)) return;
  const aside = `${log}.${new Date().toISOString().replaceAll(/\D/g, "").slice(0, 14)}.foreign`;
  try {
    copyFileSync(log, aside, constants.COPYFILE_EXCL);
    sync(aside);
  } catch (error) {
    // The disk is full; each try would leave a part.
    if (!hasCode(error, "EEXIST")) rmSync(aside, { force: true });
    throw error;
  }
  truncateSync(log);
  say(
    `The log beside ${path} had changes of another file, as where a backup was put in the place of what a killed node left. They are not applied, and stored in ${aside}.`,
  );
}

/** A crash of the machine must not leave neither of the two. */
function sync(path: string): void {
  const file = openSync(path, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Whether a backup was copied over a file that is open: `change` is the number of one that the file had, or its log; `last`: of the last that SQLite knows of, which sees only what comes by a log. */
export function isOverwritten(path: string, change: number, last: () => number): boolean {
  const log = logOf(path);
  // In this order: what is in no log is in the file.
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) {
    const file = pageOneOf(path)?.change;
    return file === undefined || ((file - change) | 0) < 0 || ((last() - file) | 0) < 0;
  }
  return isForeign(path, log);
}

function isForeign(path: string, log: string): boolean {
  const seen = foreignIn(path, log);
  if (seen === undefined) return false;
  Bun.sleepSync(certainAfterMs);
  return foreignIn(path, log) === seen;
}

/** Of a state of the database, in the first page. */
interface PageOne {
  /** Counts changes: `pragma application_id`. */
  change: number;
  /** Counts changes of the tables; `vacuum` too, which moves all pages. */
  schema: number;
}

const pageHeader = 100;

/** Describes the two if the file is none of the states that the log leads through. */
function foreignIn(path: string, log: string): string | undefined {
  const file = pageOneOf(path);
  if (file === undefined || file.schema === 0) return undefined;
  const { salt, first, last } = statesIn(log);
  if (first === undefined || last === undefined) return undefined;
  const before = first.change - 1;
  // The numbers have 32 bits, and begin anywhere.
  const isWithin = (file.change - before) >>> 0 <= (last.change - before) >>> 0;
  if (isWithin && file.schema <= last.schema) return undefined;
  return [file.change, file.schema, salt].join(" ");
}

/** Of the file without its log. By SQLite: where a process closes a file that it opened itself, the system takes all locks on it from SQLite's connections, and another program deletes the log that they write. */
function pageOneOf(path: string): PageOne | undefined {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return undefined;
  const url = pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  try {
    using file = new Database(url.href, access.SQLITE_OPEN_READONLY | access.SQLITE_OPEN_URI);
    const number = (name: string): number =>
      Number(file.query<unknown, []>(`pragma ${name}`).values()[0]?.[0]);
    return { change: number("application_id"), schema: number("schema_version") };
  } catch {
    return undefined;
  }
}

const toPageOne = (page: Buffer): PageOne => ({
  change: page.readUInt32BE(68),
  schema: page.readUInt32BE(40),
});

const logHeader = 32;
const frameHeader = 24;

interface LogStates {
  salt: string;
  first?: PageOne;
  last?: PageOne;
}

/** Frames with another salt than the header's are left from before. */
function statesIn(log: string): LogStates {
  const found = reading(log, (file): LogStates => {
    const header = Buffer.alloc(logHeader);
    readSync(file, header, 0, logHeader, 0);
    const pageSize = header.readUInt32BE(8);
    const salt = header.toString("hex", 16, 24);
    const states: LogStates = { salt };
    const frame = Buffer.alloc(frameHeader + pageHeader);
    if (pageSize === 0) return states;
    for (let at = logHeader; ; at += frameHeader + pageSize) {
      const isWhole = readSync(file, frame, 0, frame.length, at) === frame.length;
      if (!isWhole || frame.toString("hex", 8, 16) !== salt) return states;
      if (frame.readUInt32BE(0) !== 1) continue;
      states.last = toPageOne(frame.subarray(frameHeader));
      states.first ??= states.last;
    }
  });
  return found ?? { salt: "" };
}

/** Undefined if there is no file, or none that can be read: opening it says why. */
function reading<Result>(path: string, read: (file: number) => Result): Result | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return undefined;
  }
  try {
    return read(file);
  } catch {
    return undefined;
  } finally {
    closeSync(file);
  }
}
