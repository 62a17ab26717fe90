/**
 * The database of keys as it is on the disk now. Another process may change, replace or remove it,
 * and in none of these cases may a revoked key stay valid.
 */
import { constants, type Database } from "bun:sqlite";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { type FileStamp, stampOf } from "../file-stamp.ts";
import { type OpenKeys, openKeys } from "./open-keys.ts";

interface Opened extends OpenKeys {
  /** The stamps of the files just before the read; undefined where they are too new to show a later change. */
  before: string | undefined;
  /** Which write-ahead log was there just after the read. */
  log: string | undefined;
}

/** The stamps of the database and its write-ahead log. */
interface Look {
  file: FileStamp | undefined;
  log: FileStamp | undefined;
}

/** The resolution of file times: a file may change for so long without its times changing. */
const coarsestClockMs = 2000;

export class KeysFile implements Disposable {
  readonly #path: string;
  #opened: Opened | undefined;

  /** No file is made until something is written. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Reads from the current file; undefined where there is none. */
  read<Result>(query: (database: Database) => Result): Result | undefined {
    return this.#translating(() => {
      const database = this.#current();
      return database === undefined ? undefined : query(database);
    });
  }

  /** Writes to the database, which is made first where it does not exist. */
  write<Result>(change: (database: Database) => Result): Result {
    return this.#translating(() => {
      const database = this.#current() ?? this.#open();
      const result = change(database);
      // Empties the write-ahead log: a copy of the file is complete, and a copy over it meets no old log.
      database.run("pragma wal_checkpoint(truncate)");
      return result;
    });
  }

  [Symbol.dispose](): void {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    // The last connection removes the log by its name, which may belong to another database by now.
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
    // An open connection sees changes by itself; for a read-only one only the stamps tell.
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
      // Perhaps the file is being copied just now: the next request tries again.
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
