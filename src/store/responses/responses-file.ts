/** The file of stored responses and its tables: opened when it is first needed, readable by its owner only. */
import { constants, type Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { reasonOf } from "../../core/errors.ts";
import { openOwnDatabase, stampOf, type TablesOfVersion } from "../database.ts";
import { remedyFor } from "../sqlite/collection-file.ts";

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
      throw new Error(
        `Stored responses cannot be ${what}: ${remedy}. Their file is ${this.#path}.`,
        {
          cause,
        },
      );
    }
  }
}

/** Those that are made behind their requests, and not done yet. */
export const unfinished = "status in ('queued', 'in_progress')";

/** Owners by the ids that an older version knew them by. */
export type FormerOwners = Readonly<Record<string, string>>;

/**
 * What each owner stores is counted along: adding up a large table at every change would take its time.
 * Callers who need no key are the owner with the empty name.
 */
const owners = `
  create table owners (owner text primary key, bytes integer not null) strict, without rowid;
  create index responses_by_owner on responses (owner, created_at, seq);
  create trigger response_added after insert on responses begin
    insert into owners values (coalesce(new.owner, ''), new.bytes)
      on conflict (owner) do update set bytes = bytes + excluded.bytes;
  end;
  create trigger response_changed after update on responses begin
    update owners set bytes = bytes - old.bytes where owner = coalesce(old.owner, '');
    insert into owners values (coalesce(new.owner, ''), new.bytes)
      on conflict (owner) do update set bytes = bytes + excluded.bytes;
    delete from owners where owner = coalesce(old.owner, '') and bytes <= 0;
  end;
  create trigger response_removed after delete on responses begin
    update owners set bytes = bytes - old.bytes where owner = coalesce(old.owner, '');
    delete from owners where owner = coalesce(old.owner, '') and bytes <= 0;
  end;
`;

const sql = `
  create table responses (
    seq integer primary key autoincrement,
    id text not null unique,
    owner text,
    created_at integer not null,
    status text not null,
    failure text,
    background integer not null,
    body text not null,
    input text not null,
    conversation text not null,
    bytes integer not null generated always as
      (octet_length(body) + octet_length(input) + octet_length(conversation)) stored
  ) strict;
  create index responses_by_age on responses (created_at, seq);
  create index responses_unfinished on responses (seq) where ${unfinished};
  ${owners}
`;

const responseTables: TablesOfVersion = {
  version: 2,
  sql,
  upgrade: (database) => {
    database.run(`
      drop trigger response_added;
      drop trigger response_changed;
      drop trigger response_removed;
      drop table totals;
      ${owners}
      insert into owners select coalesce(owner, ''), sum(bytes) from responses group by 1;
    `);
  },
};

/** An owner as the first version called a configured key: by its place in the list. */
const isPlace = "owner glob 'configured [0-9]*' and length(owner) < 20";

/**
 * Gives what is stored under places to the keys that are there now, once: what is left is nobody's,
 * and no key that joins the list later has it. Where no keys are known it waits.
 */
function renameOwners(database: Database, former: FormerOwners): void {
  const names = Object.entries(former);
  const isDue = database.query(`select 1 from owners where ${isPlace} limit 1`);
  if (names.length === 0 || isDue.get() === null) return;
  database
    .transaction(() => {
      const rename = database.query("update responses set owner = ? where owner = ?");
      for (const [before, owner] of names) rename.run(owner, before);
      database.run(`update responses set owner = 'formerly ' || owner where ${isPlace}`);
    })
    .immediate();
}
