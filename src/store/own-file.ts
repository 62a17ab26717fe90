/** A SQLite file of the node with versioned tables, which notices when it is replaced on the disk. */
import { constants, type Database, type SQLQueryBindings } from "bun:sqlite";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { NodeError, reasonOf } from "../core/errors.ts";
import {
  change,
  checkLog,
  emptyLog,
  emptyLogIfFree,
  type FileStamp,
  idleMs,
  inTransaction,
  isThere,
  isWritable,
  numberOf,
  openOwn,
  prepareTables,
  remedyFor,
  rowsOf,
  stampOf,
  type TablesOfVersion,
} from "./database.ts";

export interface OwnFileOptions {
  path: string;
  tables: TablesOfVersion;
  /** Set before the journal mode. */
  pragmas?: readonly string[];
  /** Whether a file that was removed is replaced by a new one, while it is open too; default: it is missed until it is back. */
  mayBeRemoved?: boolean;
  onOpen?: (database: Database) => void;
  /** In the transaction of each change, before it. */
  onWrite?: (database: Database) => void;
  /** Its content's name in messages: "Stored responses". */
  called: string;
  advice: string;
}

/** A file with versioned tables: opened when first needed, created at the first write. */
export class OwnFile implements Disposable {
  readonly #options: OwnFileOptions;
  #opened: { database: Database; isReadOnly: boolean; stamp: FileStamp } | undefined;
  #idle: Timer | undefined;
  /** Why the last change could not be written. */
  #unwritten: NodeError | undefined;

  constructor(options: OwnFileOptions) {
    this.#options = options;
  }

  /** Runs a query; returns `nothing` if there is no file yet. */
  read<Result>(query: (database: Database) => Result, nothing: Result): Result {
    return this.#explaining("used", () => {
      this.#checkFile();
      if (this.#opened === undefined && !isThere(this.#options.path)) return nothing;
      const result = query(this.#open());
      this.#look();
      return result;
    });
  }

  write<Result>(change: (database: Database) => Result): Result {
    return this.#explaining("written", () => {
      this.#checkFile();
      const database = this.#open();
      clearTimeout(this.#idle);
      this.#idle = setTimeout(() => this.#emptyLog(), idleMs).unref();
      const result = inTransaction(database, () => {
        this.#options.onWrite?.(database);
        return change(database);
      });
      this.#look();
      this.#unwritten = undefined;
      return result;
    });
  }

  /** Throws if the last change could not be written, as where the disk is full: reading goes on. */
  checkWritten(): void {
    if (this.#unwritten !== undefined) throw this.#unwritten;
  }

  /** The rows of a query; none if there is no file yet. */
  all<Row>(sql: string, ...values: SQLQueryBindings[]): Row[] {
    return this.read((database) => rowsOf<Row>(database, sql, ...values), []);
  }

  get<Row>(sql: string, ...values: SQLQueryBindings[]): Row | undefined {
    return this.all<Row>(sql, ...values)[0];
  }

  /** The first number of the first row; 0 if there is none, or no file yet. */
  number(sql: string, ...values: SQLQueryBindings[]): number {
    return this.read((database) => numberOf(database, sql, ...values), 0);
  }

  run(sql: string, ...values: SQLQueryBindings[]): number {
    return this.write((database) => change(database, sql, ...values));
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#idle);
    try {
      this.#checkFile();
    } catch {
      // The file is gone from the disk, and is closed all the same.
    }
    this.#close();
  }

  #open(): Database {
    if (this.#opened !== undefined) return this.#opened.database;
    const { path, tables, pragmas, onOpen } = this.#options;
    const opened = openOwn(path, (database) => prepareTables(database, tables), { pragmas });
    onOpen?.(opened.database);
    this.#opened = { ...opened, stamp: stampOf(path) };
    return opened.database;
  }

  #close(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    opened?.database.close();
  }

  /** Closes a file that was replaced on the disk: what is written into the former one is lost with it. */
  #checkFile(): void {
    const { path, called, mayBeRemoved = false } = this.#options;
    const opened = this.#opened;
    if (opened === undefined) return;
    const now = stampOf(path);
    // A data dir that was moved away is not made again: it could not be moved back.
    const isMissed = !mayBeRemoved || !existsSync(dirname(path));
    if (now?.state !== opened.stamp?.state && isMissed && !isThere(path)) {
      const why = `${called} cannot be used: the file is gone from the disk, or empty, since it was opened. Put it back, or start the node again. It was ${path}.`;
      throw new NodeError("unavailable", why);
    }
    if (now?.identity !== opened.stamp?.identity) {
      // What is in the log belongs to the former file, and would be taken for changes of the new one.
      emptyLog(opened.database);
      // The last connection deletes the log by name, but the log may belong to another database by now.
      opened.database.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1);
      this.#close();
    } else if (now?.state !== opened.stamp?.state) {
      // Another process emptied the log, or a backup was copied over the file, which must not get the former one's log.
      checkLog(path);
      this.#close();
    } else if (opened.isReadOnly && isWritable(dirname(path))) this.#close();
  }

  /** What was asked may have emptied the log, and so changed the file: on a full disk it could not be opened again. */
  #look(): void {
    const opened = this.#opened;
    const now = stampOf(this.#options.path);
    const isSame = now !== undefined && now.identity === opened?.stamp?.identity && now.size > 0;
    if (opened !== undefined && isSame) opened.stamp = now;
  }

  /** So that a copy of the file alone is complete, and a backup in its place meets no former log. */
  #emptyLog(): void {
    try {
      this.read(emptyLogIfFree, undefined);
    } catch {
      // The disk is full or away; the next change tries again.
    }
  }

  #explaining<Result>(verb: "used" | "written", work: () => Result): Result {
    try {
      return work();
    } catch (cause) {
      if (cause instanceof NodeError) throw cause;
      const { path, called, advice } = this.#options;
      const remedy = remedyFor(cause) ?? `${reasonOf(cause)}; ${advice}`;
      const why = `${called} cannot be ${verb}: ${remedy}. The file is ${path}.`;
      const error = new NodeError("unavailable", why, { cause });
      if (verb === "written") this.#unwritten = error;
      throw error;
    }
  }
}
