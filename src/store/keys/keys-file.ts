/**
 * The database of keys as it lies on the disk now: another process may change it, put another in its
 * place, or take it away, and none of that may keep a revoked key alive.
 */
import { constants, type Database } from "bun:sqlite";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { type FileStamp, stampOf } from "../file-stamp.ts";
import { type OpenKeys, openKeys } from "./open-keys.ts";

interface Opened extends OpenKeys {
  /** What the files were like just before; undefined where that does not tell later changes. */
  before: string | undefined;
  /** Which log of changes was there just after. */
  log: string | undefined;
}

/** The files, as two looks compare them. */
interface Look {
  file: FileStamp | undefined;
  log: FileStamp | undefined;
}

/** A file's times may stand still for so long while it changes. */
const coarsestClockMs = 2000;

export class KeysFile implements Disposable {
  readonly #path: string;
  #opened: Opened | undefined;

  /** Nothing is made until something is written. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Reads what is there now; undefined where nothing is. */
  read<Result>(query: (database: Database) => Result): Result | undefined {
    return this.#translating(() => {
      const database = this.#current();
      return database === undefined ? undefined : query(database);
    });
  }

  /** Changes it; makes it first where it is not there. */
  write<Result>(change: (database: Database) => Result): Result {
    return this.#translating(() => {
      const database = this.#current() ?? this.#open();
      const result = change(database);
      // Leaves the file whole: who copies it has all, and a copy over it meets no older changes.
      database.run("pragma wal_checkpoint(truncate)");
      return result;
    });
  }

  [Symbol.dispose](): void {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    // The last connection removes the log by its name, which may be another file's by now.
    if (opened.log !== this.#look().log?.identity) {
      opened.database.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1);
    }
    opened.database.close();
  }

  /** Undefined where no key was ever given out, and while the file is gone or empty. */
  #current(): Database | undefined {
    const opened = this.#opened;
    const look = this.#look();
    const isThere = look.file !== undefined && look.file.size > 0;
    if (opened?.before !== undefined && opened.before === stateIn(look, opened)) {
      return opened.database;
    }
    this[Symbol.dispose]();
    return isThere ? this.#open() : undefined;
  }

  #open(): Database {
    const look = this.#look();
    const now = Date.now();
    const keys = openKeys(this.#path);
    const { file } = look;
    // SQLite sees its own changes by itself; without that only the times tell, once they are old.
    const tells =
      keys.followsChanges ||
      (file !== undefined && Math.abs(now - file.changedMs) > coarsestClockMs);
    this.#opened = {
      ...keys,
      before: tells ? stateIn(look, keys) : undefined,
      log: this.#look().log?.identity,
    };
    return keys.database;
  }

  #look(): Look {
    return { file: stampOf(this.#path), log: stampOf(`${this.#path}-wal`) };
  }

  #translating<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (cause) {
      if (cause instanceof NodeError) throw cause;
      // A copy that is under way, perhaps: the next request looks again.
      this[Symbol.dispose]();
      throw new NodeError(
        "unavailable",
        `The keys in ${this.#path} cannot be used: ${reasonOf(cause)}. Give this user the right to read and write it and its folder, or restore it from a backup.`,
        { cause },
      );
    }
  }
}

const stateIn = ({ file, log }: Look, { followsChanges }: OpenKeys): string =>
  followsChanges ? String(file?.state) : `${file?.state} ${log?.state}`;
