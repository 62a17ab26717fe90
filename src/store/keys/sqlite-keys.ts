/** API keys in a SQLite file: only a salted digest of each. Every process that has it open sees changes at once. */
import { constants, type Database } from "bun:sqlite";
import { chmodSync, lstatSync, rmSync, statSync } from "node:fs";
import { hasCode, NodeError, reasonOf } from "../../core/errors.ts";
import {
  type ApiKey,
  type KeyRing,
  type KeyStore,
  type NewKey,
  nameIsTaken,
} from "../../core/limits/api-key.ts";
import {
  change,
  emptyLog,
  type FileStamp,
  insert,
  inspectIds,
  inTransaction,
  numberOf,
  type OpenOptions,
  openOwn,
  ownerOnly,
  remedyFor,
  rowOf,
  rowsOf,
  stampOf,
} from "../database.ts";
import { type KeyRecord, matchKey, newKeyRecord, toKey } from "./key-record.ts";

export const keysFile = "keys.sqlite";

/** For a node that serves: it answers nobody while it waits. */
export const waitOfNodeMs = 5;

/** `waitMs`: how long to wait for locks of other processes; default: as for any file. */
type KeysOptions = Pick<OpenOptions, "waitMs">;

const anyKey = "select 1 from keys limit 1";

export class SqliteKeys implements KeyRing, KeyStore, Disposable {
  readonly #file: KeysFile;
  #hadKeys = false;

  /** Creates no file until a key is created. */
  constructor(path: string, options: KeysOptions = {}) {
    this.#file = new KeysFile(path, options);
  }

  /** Stays true once there was a key: rows are never removed, and neither a missing file nor an empty one must open the node. */
  hasKeys(): boolean {
    this.#hadKeys ||= (this.#file.read((database) => numberOf(database, anyKey)) ?? 0) > 0;
    if (!this.#hadKeys) this.#file.checkAbsent();
    return this.#hadKeys;
  }

  /** Why keys that were given out open nothing. */
  problem(): string | undefined {
    try {
      const isThere = (this.#file.read((database) => numberOf(database, anyKey)) ?? 0) > 0;
      if (isThere || !this.#hadKeys) return undefined;
    } catch {}
    return `${keysFile} in the data dir cannot be read, or has no keys any more: those that were given out open nothing. Put it back, or restore it from a backup.`;
  }

  find(text: string): ApiKey | undefined {
    return matchKey(text, (id) => this.#record("id = ?", id));
  }

  byId(id: string): ApiKey | undefined {
    const record = this.#record("id = ?", id);
    return record && toKey(record);
  }

  list(): ApiKey[] {
    return this.records().map(toKey);
  }

  /** The rows themselves, for sharing with other nodes. */
  records(): KeyRecord[] {
    const sql = "select * from keys order by created_at";
    return this.#file.read((database) => rowsOf<KeyRecord>(database, sql)) ?? [];
  }

  create(wanted: NewKey): { key: ApiKey; text: string } {
    const { record, text } = newKeyRecord(wanted);
    const { name } = record;
    this.#file.write((database) => {
      const isTaken = numberOf(database, "select count(*) from keys where name = ?", name) > 0;
      if (isTaken) throw nameIsTaken(name);
      insert(database, "keys", record);
    });
    return { key: toKey(record), text };
  }

  revoke(idOrName: string): ApiKey | undefined {
    const row = this.#record("id = ?1 or name = ?1", idOrName);
    if (row === undefined) return undefined;
    const revokedAt = row.revoked_at ?? Date.now();
    this.#file.write((database) =>
      change(database, "update keys set revoked_at = ? where id = ?", revokedAt, row.id),
    );
    return toKey({ ...row, revoked_at: revokedAt });
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }

  #record(where: string, value: string): KeyRecord | undefined {
    const sql = `select * from keys where ${where}`;
    return this.#file.read((database) => rowOf<KeyRecord>(database, sql, value));
  }
}

interface Opened {
  database: Database;
  /** Whether only the stamps show changes by other processes; another connection sees them by itself. */
  isReadOnly: boolean;
  /** The stamps of the files just before the read; undefined if they are too recent to show a later change. */
  before: string | undefined;
  /** Identity of the write-ahead log just after the read. */
  log: string | undefined;
}

type Look = Record<"file" | "log", FileStamp>;

/** The coarsest resolution of file times: a change within it may not show. */
const coarsestClockMs = 2000;

/** The database as it is on disk now: another process may change, replace or remove it, and no revoked key may stay valid. */
class KeysFile implements Disposable {
  readonly #path: string;
  readonly #options: KeysOptions;
  #opened: Opened | undefined;

  constructor(path: string, options: KeysOptions) {
    this.#path = path;
    this.#options = options;
  }

  read<Result>(query: (database: Database) => Result): Result | undefined {
    return this.#translating(() => {
      const database = this.#current();
      return database === undefined ? undefined : query(database);
    });
  }

  write<Result>(change: (database: Database) => Result): Result {
    return this.#translating(() => {
      // Not where a link leads to a disk that is away, or the log of a file that was moved is left.
      const isNew = ["", "-wal"].every((suffix) => isFree(`${this.#path}${suffix}`));
      try {
        const database = this.#current() ?? this.#open();
        const result = inTransaction(database, () => change(database));
        // So that a copy of the file is complete, and a restored copy meets no old log.
        emptyLog(database);
        return result;
      } catch (error) {
        // A key of this name, for example: another process has made the file meanwhile, and may write it now.
        const isOfOther = error instanceof NodeError || hasCode(error, "SQLITE_BUSY");
        if (isNew && !isOfOther) this.#discard();
        throw error;
      }
    });
  }

  /** A file without keys has lost them, or is another, and the disk that a link leads to may be away; where there never were any, there is none. */
  checkAbsent(): void {
    if (isFree(this.#path)) return;
    const found =
      this.#look().file === undefined ? "it is a link to no file" : "the file has no keys";
    const why = `The keys in ${this.#path} cannot be used: ${found}. Restore it from a backup, give out new keys with 'paddock keys create', or delete it to serve without keys.`;
    throw new NodeError("unavailable", why);
  }

  [Symbol.dispose](): void {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    // The last connection deletes the log by name, but the log may belong to another database by now.
    if (opened.log !== this.#logIdentity()) {
      opened.database.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1);
    }
    opened.database.close();
  }

  /** Undefined if no key was ever created, and while the file is missing or empty. */
  #current(): Database | undefined {
    const opened = this.#opened;
    const look = this.#look();
    if (opened?.before !== undefined && opened.before === stateIn(look, opened.isReadOnly)) {
      return opened.database;
    }
    this[Symbol.dispose]();
    return (look.file?.size ?? 0) > 0 ? this.#open() : undefined;
  }

  #open(): Database {
    const look = this.#look();
    const now = Date.now();
    const fill = (opened: Database): void => prepare(opened, this.#path);
    const options = { ...this.#options, readsWhenFull: true };
    const { database, isReadOnly } = openOwn(this.#path, fill, options);
    const { file } = look;
    const tells =
      !isReadOnly || (file !== undefined && Math.abs(now - file.changedMs) > coarsestClockMs);
    const before = tells ? stateIn(look, isReadOnly) : undefined;
    this.#opened = { database, isReadOnly, before, log: this.#look().log?.identity };
    return database;
  }

  #look(): Look {
    return { file: stampOf(this.#path), log: stampOf(`${this.#path}-wal`) };
  }

  /** Of a new file that could not be written, as where the disk is full: one without keys would be taken for one that has lost them. */
  #discard(): void {
    this[Symbol.dispose]();
    const found = inspectIds(this.#path, "keys");
    // Another process may have made it.
    if (Array.isArray(found) && found.length > 0) return;
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${this.#path}${suffix}`, { force: true });
  }

  /** Undefined also where the folder cannot be looked at: what was opened is closed all the same. */
  #logIdentity(): string | undefined {
    try {
      return this.#look().log?.identity;
    } catch {
      return undefined;
    }
  }

  #translating<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (cause) {
      if (cause instanceof NodeError) throw cause;
      // The file may be being copied right now: the next request tries again.
      this[Symbol.dispose]();
      const remedy =
        remedyFor(cause) ??
        `${reasonOf(cause)}. Give this user the right to read and write it and its folder, or restore it from a backup`;
      const why = `The keys in ${this.#path} cannot be used: ${remedy}.`;
      throw new NodeError("unavailable", why, { cause });
    }
  }
}

const isFree = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) === undefined;

const stateIn = ({ file, log }: Look, isReadOnly: boolean): string =>
  isReadOnly ? `${file?.state} ${log?.state}` : String(file?.state);

const table = `
  create table if not exists keys (
    id text primary key,
    name text not null unique,
    scopes text not null,
    salt blob not null,
    digest blob not null,
    created_at integer not null,
    expires_at integer,
    revoked_at integer
  ) strict`;

/** Columns that files of earlier versions do not have. */
const laterColumns = {
  requests_per_minute: "integer",
  tokens_per_minute: "integer",
  concurrency: "integer",
  document_bytes: "integer",
  document_passages: "integer",
  vector_stores: "text",
} as const;

function prepare(database: Database, path: string): void {
  database.run(table);
  addLaterColumns(database);
  for (const suffix of ["", "-wal", "-shm"]) {
    const file = statSync(`${path}${suffix}`, { throwIfNoEntry: false });
    if (file !== undefined && (file.mode & 0o777) !== ownerOnly) {
      chmodSync(`${path}${suffix}`, ownerOnly);
    }
  }
}

function addLaterColumns(database: Database): void {
  const sql = "select count(*) from pragma_table_info('keys') where name = ?";
  const missing = () =>
    Object.entries(laterColumns).filter(([column]) => numberOf(database, sql, column) === 0);
  if (missing().length === 0) return;
  // Two processes may migrate an old file at the same time, so the check is repeated inside the transaction.
  const add = database.transaction(() => {
    for (const [column, type] of missing()) {
      database.run(`alter table keys add column ${column} ${type}`);
    }
  });
  add.immediate();
}
