/** Rows of stored responses in a SQLite file; every call is one transaction. */
import type { Database } from "bun:sqlite";
import { NodeError } from "../../core/errors.ts";
import {
  isFinished,
  type ResponseStatus,
  type TidiedResponses,
} from "../../core/ports/response-store.ts";
import { change, emptyLog, numberOf, put, rowOf, rowsOf, update } from "../database.ts";
import { OwnFile } from "../own-file.ts";
import { type FormerOwners, renameOwners, responseTables, unfinished } from "./response-tables.ts";

export type ResponseRow = {
  id: string;
  owner: string | null;
  created_at: number;
  status: ResponseStatus;
  failure: string | null;
  background: number;
  body: string;
  input: string;
  conversation: string;
};

export type RowChange = Partial<Pick<ResponseRow, "status" | "failure" | "body" | "conversation">>;

export interface RowBounds {
  /** Responses created at or before this time have expired. */
  before: number;
  maxBytes: number;
}

/** Most rows that one step deletes: other calls wait for it. */
const step = 100;

const pages = 2000;

export class ResponseRows implements Disposable {
  readonly #file: OwnFile;
  #displaced = 0;

  constructor(path: string, formerOwners: FormerOwners) {
    this.#file = new OwnFile({
      path,
      tables: responseTables,
      pragmas: [
        // Allows freed space to be returned; has to be set before anything is in the file.
        "auto_vacuum = incremental",
        // Overwrites deleted content, which may be private.
        "secure_delete = on",
      ],
      called: "Stored responses",
      advice: "restore the file from a backup, or move it away, and a new one is made",
      mayBeRemoved: true,
      onOpen: (database) => {
        try {
          renameOwners(database, formerOwners);
        } catch {
          // The disk is full or read-only; the next start does it.
        }
      },
    });
  }

  save(row: ResponseRow, bounds: RowBounds): void {
    this.#displaced += this.#file.write((database) => {
      put(database, "responses", row, "id");
      if (!isFinished(row.status)) checkUnfinished(database, bounds, row);
      return makeRoom(database, bounds, row);
    });
  }

  replace(row: ResponseRow, before: number, bounds: RowBounds): boolean {
    return this.#file.write((database) => {
      const where = "id = ? and owner is ? and created_at = ?";
      const changes = update(database, "responses", row, where, row.id, row.owner, before);
      if (changes > 0) this.#displaced += makeRoom(database, bounds, row);
      return changes > 0;
    });
  }

  change(id: string, columns: RowChange, bounds: RowBounds): boolean {
    if (this.countUnfinished() === 0) return false;
    return this.#file.write((database) => {
      const where = `id = ? and created_at > ? and ${unfinished}`;
      const changes = update(database, "responses", columns, where, id, bounds.before);
      if (changes > 0) this.#displaced += makeRoom(database, bounds, { id });
      return changes > 0;
    });
  }

  find(id: string, owner: string | null, { before }: RowBounds): ResponseRow | undefined {
    return this.#file.get(
      `select id, owner, created_at, status, failure, background, body, input, conversation
       from responses where id = ? and owner is ? and created_at > ?`,
      ...[id, owner, before],
    );
  }

  delete(id: string, owner: string | null, bounds: RowBounds): boolean {
    if (this.find(id, owner, bounds) === undefined) return false;
    this.#file.run("delete from responses where id = ? and owner is ?", id, owner);
    this.#file.read(emptyLog, undefined);
    return true;
  }

  check(): void {
    this.countUnfinished();
    this.#file.checkWritten();
  }

  countUnfinished(): number {
    return this.#file.number(`select count(*) from responses where ${unfinished}`);
  }

  failUnfinished(failure: string): number {
    if (this.countUnfinished() === 0) return 0;
    const sql = `update responses set status = 'failed', failure = ? where ${unfinished}`;
    return this.#file.run(sql, failure);
  }

  tidy(bounds: RowBounds): TidiedResponses {
    const isOver = this.#file.read(
      (database) => hasExpired(database, bounds) || totalOf(database) > bounds.maxBytes,
      false,
    );
    const expired = isOver ? this.#file.write((database) => expire(database, bounds)) : 0;
    const removed = isOver ? this.#file.write((database) => makeRoom(database, bounds)) : 0;
    const displaced = this.#displaced + removed;
    this.#displaced = 0;
    const isEmptied = expired < step && removed < step;
    const isDone = isEmptied && this.#file.read(giveBack, true);
    return { expired, displaced, isDone };
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}

const hasExpired = (database: Database, { before }: RowBounds): boolean =>
  rowOf(database, "select 1 from responses where created_at <= ? limit 1", before) !== undefined;

const totalOf = (database: Database): number => numberOf(database, "select sum(bytes) from owners");

const expire = (database: Database, { before }: RowBounds): number =>
  change(
    database,
    `delete from responses where seq in
       (select seq from responses where created_at <= ? order by created_at, seq limit ?)`,
    ...[before, step],
  );

/** Unfinished responses of one owner fill at most this share: none of them can be deleted for others. */
const unfinishedShare = 1 / 4;

function checkUnfinished(database: Database, { maxBytes }: RowBounds, { id, owner }: Saved): void {
  const sum = `select sum(bytes) from responses where ${unfinishedOf}`;
  if (
    numberOf(database, sum, owner) > maxBytes * unfinishedShare &&
    makesOthers(database, { id, owner })
  ) {
    throw noRoom();
  }
}

type Saved = Pick<ResponseRow, "id" | "owner">;

/** Whether others of the owner are being made. */
const makesOthers = (database: Database, { id, owner }: Saved): boolean =>
  rowOf(database, `select 1 from responses where ${unfinishedOf} and id <> ?`, owner, id) !==
  undefined;

const noRoom = (): NodeError =>
  new NodeError(
    "overloaded",
    "There is no room for another response of this caller: those that are being made in the background take it (responses.max_bytes). Retry when some of them are done.",
  );

/** Deletes the oldest responses of the caller that stores most, up to one step. None loses responses to one that stores more: if all of that one's are unfinished, it stores no others. */
function makeRoom(
  database: Database,
  { maxBytes }: RowBounds,
  saved: Pick<Saved, "id"> & Partial<Saved> = { id: "" },
): number {
  const removeOldest = `delete from responses where seq =
    (select seq from responses where owner is nullif(?, '') and id <> ? and not (${unfinished})
     order by created_at, seq limit 1) returning bytes`;
  let total = totalOf(database);
  if (total <= maxBytes) return 0;
  // Read once: sorting thousands of owners for each that is deleted would hold up all others.
  const sql = "select owner, bytes from owners order by bytes desc";
  const owners = rowsOf<{ owner: string; bytes: number }>(database, sql);
  let going = 0;
  for (let most = owners.shift(); most && going < step && total > maxBytes; most = owners.shift()) {
    const { owner, bytes } = most;
    const deleted = rowOf<{ bytes: number }>(database, removeOldest, owner, saved.id);
    if (deleted === undefined) {
      const { id, owner: saver } = saved;
      const isSavers = saver !== undefined && owner === (saver ?? "");
      if (isSavers && makesOthers(database, { id, owner: saver })) throw noRoom();
      continue;
    }
    going++;
    total -= deleted.bytes;
    const left = bytes - deleted.bytes;
    const place = owners.findIndex((other) => other.bytes <= left);
    owners.splice(place < 0 ? owners.length : place, 0, { owner, bytes: left });
  }
  return going;
}

/** Returns free space to the disk, up to one step; true if that is enough: some is left for new rows. */
function giveBack(database: Database): boolean {
  const free = (): number => numberOf(database, "pragma freelist_count");
  const before = free();
  if (before > pages) database.run(`pragma incremental_vacuum(${pages})`);
  emptyLog(database);
  // On a read-only disk, nothing changes.
  return before <= pages || free() === before;
}

/** Found by their index, which is short; by the owner's all of its responses would be read. */
const unfinishedOf = `+owner is ? and ${unfinished}`;
