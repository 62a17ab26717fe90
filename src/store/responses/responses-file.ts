/** The file of kept responses: opened when it is first needed, readable by its owner only. */
import { constants, type Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { reasonOf } from "../../core/errors.ts";
import { stampOf } from "../file-stamp.ts";
import { openOwnDatabase } from "../own-database.ts";
import { remedyFor } from "../sqlite/errors.ts";
import { type FormerOwners, renameOwners, responseTables } from "./tables.ts";

const pragmas = [
  // Room of what was deleted can be given back; it has to be said before anything is in the file.
  "auto_vacuum = incremental",
  // What is deleted is overwritten: it may be private.
  "secure_delete = on",
];

interface Opened {
  database: Database;
  /** Which file it is. */
  identity: string | undefined;
}

export class ResponsesFile implements Disposable {
  readonly #path: string;
  readonly #formerOwners: FormerOwners;
  #opened: Opened | undefined;

  /** No file is made until something is written. */
  constructor(path: string, formerOwners: FormerOwners) {
    this.#path = path;
    this.#formerOwners = formerOwners;
  }

  /** Asks it; `nothing` is the answer where there is no file. */
  read<Result>(query: (database: Database) => Result, nothing: Result): Result {
    return this.#explaining("read", () => {
      this.#checkIdentity();
      if (this.#opened === undefined && !existsSync(this.#path)) return nothing;
      return query(this.#open());
    });
  }

  /** Changes it, all or nothing. */
  write<Result>(change: (database: Database) => Result): Result {
    return this.#explaining("written", () => {
      this.#checkIdentity();
      const database = this.#open();
      return database.transaction(() => change(database)).immediate();
    });
  }

  [Symbol.dispose](): void {
    const opened = this.#opened;
    this.#opened = undefined;
    opened?.database.close();
  }

  #open(): Database {
    if (this.#opened !== undefined) return this.#opened.database;
    const database = openOwnDatabase(this.#path, responseTables, pragmas);
    try {
      renameOwners(database, this.#formerOwners);
    } catch {
      // On a disk that is full or can only be read; the next start does it.
    }
    this.#opened = { database, identity: stampOf(this.#path)?.identity };
    return database;
  }

  /** What was removed or replaced on the disk is not read or written any more. */
  #checkIdentity(): void {
    const opened = this.#opened;
    if (opened === undefined || stampOf(this.#path)?.identity === opened.identity) return;
    // The last connection removes the log by its name, which may belong to another database by now.
    opened.database.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1);
    this[Symbol.dispose]();
  }

  #explaining<Result>(what: string, work: () => Result): Result {
    try {
      return work();
    } catch (cause) {
      const remedy =
        remedyFor(cause) ??
        `${reasonOf(cause)}; restore it from a backup, or move it away, and a new one is made`;
      throw new Error(`Kept responses cannot be ${what}: ${remedy}. Their file is ${this.#path}.`, {
        cause,
      });
    }
  }
}
