/** Stored responses, as rows; every call is one transaction. */
import type { Database, SQLQueryBindings } from "bun:sqlite";
import type { TidiedResponses } from "../../core/ports/response-store.ts";
import { type ResponsesFile, unfinished } from "./responses-file.ts";

/** What is JSON is text here. */
export interface ResponseRow {
  id: string;
  owner: string | null;
  created_at: number;
  status: string;
  failure: string | null;
  background: number;
  body: string;
  input: string;
  conversation: string;
}

export type RowChange = Partial<Pick<ResponseRow, "status" | "failure" | "body" | "conversation">>;

export interface RowBounds {
  /** Those that were made at this time or before it are no more. */
  before: number;
  /** Bytes of all together. */
  maxBytes: number;
}

/** Most rows that one step deletes: others wait for it. */
const step = 100;

/** Pages that one step gives back to the disk. */
const pages = 2000;

export class ResponseRows {
  readonly #file: ResponsesFile;
  #displaced = 0;

  constructor(file: ResponsesFile) {
    this.#file = file;
  }

  save(row: ResponseRow, bounds: RowBounds): void {
    const displaced = this.#file.write((database) => {
      database
        .query<void, SQLQueryBindings[]>(
          `insert into responses
             (id, owner, created_at, status, failure, background, body, input, conversation)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?)
           on conflict (id) do update set owner = excluded.owner,
             created_at = excluded.created_at, status = excluded.status,
             failure = excluded.failure, background = excluded.background,
             body = excluded.body, input = excluded.input, conversation = excluded.conversation`,
        )
        .run(
          ...[row.id, row.owner, row.created_at, row.status, row.failure, row.background],
          ...[row.body, row.input, row.conversation],
        );
      return makeRoom(database, bounds, row.id);
    });
    this.#displaced += displaced;
  }

  change(id: string, change: RowChange, bounds: RowBounds): boolean {
    const set = Object.entries(change);
    const [isChanged, displaced] = this.#file.write((database) => {
      const { changes } = database
        .query<void, SQLQueryBindings[]>(
          `update responses set ${set.map(([name]) => `${name} = ?`).join(", ")}
           where id = ? and created_at > ? and ${unfinished}`,
        )
        .run(...set.map(([, value]) => value ?? null), id, bounds.before);
      return [changes > 0, changes > 0 ? makeRoom(database, bounds, id) : 0];
    });
    this.#displaced += displaced;
    return isChanged;
  }

  find(id: string, owner: string | null, { before }: RowBounds): ResponseRow | undefined {
    return this.#file.read(
      (database) =>
        database
          .query<ResponseRow, [string, string | null, number]>(
            `select id, owner, created_at, status, failure, background, body, input, conversation
             from responses where id = ? and owner is ? and created_at > ?`,
          )
          .get(id, owner, before) ?? undefined,
      undefined,
    );
  }

  delete(id: string, owner: string | null, { before }: RowBounds): boolean {
    if (this.find(id, owner, { before, maxBytes: 0 }) === undefined) return false;
    this.#file.write((database) =>
      database
        .query<void, [string, string | null]>("delete from responses where id = ? and owner is ?")
        .run(id, owner),
    );
    this.#file.read(emptyLog, undefined);
    return true;
  }

  countUnfinished(): number {
    return this.#file.read(
      (database) =>
        database
          .query<{ count: number }, []>(
            `select count(*) as count from responses where ${unfinished}`,
          )
          .get()?.count ?? 0,
      0,
    );
  }

  failUnfinished(failure: string): number {
    const count = this.countUnfinished();
    if (count === 0) return 0;
    this.#file.write((database) =>
      database
        .query<void, [string]>(
          `update responses set status = 'failed', failure = ? where ${unfinished}`,
        )
        .run(failure),
    );
    return count;
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
}

const hasExpired = (database: Database, { before }: RowBounds): boolean =>
  database
    .query<object, [number]>("select 1 from responses where created_at <= ? limit 1")
    .get(before) !== null;

const totalOf = (database: Database): number =>
  database.query<{ bytes: number | null }, []>("select sum(bytes) as bytes from owners").get()
    ?.bytes ?? 0;

function expire(database: Database, { before }: RowBounds): number {
  const rows = database
    .query<{ seq: number }, [number, number]>(
      "select seq from responses where created_at <= ? order by created_at, seq limit ?",
    )
    .all(before, step);
  remove(database, rows);
  return rows.length;
}

/**
 * As long as all are too large together, removes the oldest of the caller who stores most, up to a step of
 * them: nobody's go for another's who stores more.
 */
function makeRoom(database: Database, { maxBytes }: RowBounds, spared = ""): number {
  const oldest = database.query<{ seq: number }, [string, string]>(
    `select seq from responses where owner is nullif(?, '') and id <> ? and not (${unfinished})
     order by created_at, seq limit 1`,
  );
  let going = 0;
  while (going < step && totalOf(database) > maxBytes) {
    const owners = database
      .query<{ owner: string }, []>("select owner from owners order by bytes desc")
      .all();
    const next = firstOf(owners, ({ owner }) => oldest.get(owner, spared) ?? undefined);
    if (next === undefined) break;
    remove(database, [next]);
    going++;
  }
  return going;
}

function firstOf<Item, Found>(
  items: readonly Item[],
  find: (item: Item) => Found | undefined,
): Found | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function remove(database: Database, rows: readonly { seq: number }[]): void {
  const removal = database.query<void, [number]>("delete from responses where seq = ?");
  for (const { seq } of rows) removal.run(seq);
}

/** Until then what was deleted is still in the write-ahead log. */
const emptyLog = (database: Database): void => {
  database.run("pragma wal_checkpoint(truncate)");
};

/** Gives room back, up to a step; says whether that is enough: some is left for those that come. */
function giveBack(database: Database): boolean {
  const free = (): number =>
    database.query<{ freelist_count: number }, []>("pragma freelist_count").get()?.freelist_count ??
    0;
  const before = free();
  if (before > pages) database.run(`pragma incremental_vacuum(${pages})`);
  emptyLog(database);
  // On a disk that can only be read nothing changes.
  return before <= pages || free() === before;
}
