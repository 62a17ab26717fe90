/** The SQLite file of a collection: its tables, and the migration of older files. */
import type { Database } from "bun:sqlite";
import { setTimeout as pauseFor } from "node:timers/promises";
import { hasCode, NodeError, reasonOf } from "../../core/errors.ts";
import type {
  CollectionDescription,
  CollectionSpec,
  EmbeddingIdentity,
} from "../../core/ports/passage-repository.ts";
import { change, numberOf, remedyFor, rowOf, rowsOf, versionOf } from "../database.ts";
import { wordForm, wordsOf } from "../split-words.ts";

const version = 2;

/** Keys are never reused: an index of keys follows the rows beyond its last key, and the removals since. */
const tables = `
  create table meta (key text primary key, value text not null) strict;
  create table passages (
    key integer primary key autoincrement,
    id text not null unique,
    document text not null,
    heading text not null,
    position integer not null,
    hash text not null,
    document_hash text not null,
    parts integer not null,
    vector blob not null,
    source text not null,
    terms text
  ) strict;
  create index passages_by_document on passages (document, document_hash, parts);
  create index passages_by_position on passages (document, position);
  create table removed (seq integer primary key autoincrement, key integer not null) strict;
`;

/** Each insert must bring the passage's words; one by an older version, which has none, is rejected. */
const wordTables = `
  create virtual table words using fts5 (
    terms, content = 'passages', content_rowid = 'key', tokenize = 'ascii'
  );
  create virtual table word_counts using fts5vocab (words, row);
  create trigger passage_without_words before insert on passages when new.terms is null begin
    select raise (abort, 'a passage came without its words, from an older Paddock');
  end;
  create trigger passage_added after insert on passages begin
    insert into words (rowid, terms) values (new.key, new.terms);
  end;
  create trigger passage_removed after delete on passages begin
    insert into words (words, rowid, terms) values ('delete', old.key, old.terms);
    insert into removed (key) values (old.key);
  end;
`;

export const termsOf = (source: string): string => wordsOf(source).join(" ");

/** Whether the file's words match those of a question; a read-only file may be older. */
export const hasCurrentWords = (database: Database): boolean =>
  versionOf(database) === version && readMeta(database, "words") === String(wordForm);

/** Safe when two processes open the file at once. `onRebuild`: called before a slow upgrade of an older file. */
export function prepareTables(database: Database, onRebuild: () => void = () => {}): void {
  if (hasCurrentWords(database) && has(database, "passages_by_position")) return;
  database
    .transaction(() => {
      const found = versionOf(database);
      if (found > version) {
        const why = `its file was written by a newer Paddock (format ${found}; this one knows ${version})`;
        throw new Error(why);
      }
      if (found > 0) onRebuild();
      if (found === 0) makeTables(database);
      if (found === 1) database.run("alter table passages add column terms text");
      if (!hasCurrentWords(database)) rebuildWords(database);
      database.run(positionIndex);
      database.run(`pragma user_version = ${version}`);
    })
    .immediate();
}

/** Older files have no index of positions, without which reading a page of a document is slower. */
const positionIndex =
  "create index if not exists passages_by_position on passages (document, position)";

function makeTables(database: Database): void {
  const isOld = has(database, "passages");
  if (isOld) {
    database.run("alter table passages rename to old_passages");
    database.run("drop index passages_by_document");
    database.run("alter table meta rename to old_meta");
  }
  database.run(tables);
  if (isOld) migrate(database);
}

/** Rebuilds the words of every passage; keys and vectors stay, and with them the index of vectors. */
function rebuildWords(database: Database): void {
  for (const trigger of ["passage_without_words", "passage_added", "passage_removed"]) {
    database.run(`drop trigger if exists ${trigger}`);
  }
  for (const table of ["word_counts", "words"]) database.run(`drop table if exists ${table}`);
  const next = (last: number): { key: number; source: string }[] =>
    rowsOf(
      database,
      "select key, source from passages where key > ? order by key limit 1000",
      last,
    );
  for (let rows = next(0); rows.length > 0; rows = next(rows.at(-1)?.key ?? 0)) {
    for (const { key, source } of rows) {
      change(database, "update passages set terms = ? where key = ?", termsOf(source), key);
    }
  }
  database.run(wordTables);
  database.run("insert into words (words) values ('rebuild')");
  writeMeta(database, "words", String(wordForm));
}

/** The first format had neither headings nor digests, so every document counts as changed at its next ingest. */
function migrate(database: Database): void {
  database.run(`
    insert into passages (id, document, heading, position, hash, document_hash, parts, vector, source)
    select id, document, '', 0, '', '', 0, vector, source from old_passages order by rowid`);
  database.run("insert into meta select key, value from old_meta");
  database.run("drop table old_passages");
  database.run("drop table old_meta");
}

const has = (database: Database, name: string): boolean =>
  rowOf(database, "select 1 from sqlite_master where name = ?", name) !== undefined;

/** The dimension of its vectors; undefined if the file holds no collection. */
export function dimensionIn(database: Database): number | undefined {
  const text = has(database, "meta") ? readMeta(database, "dimension") : undefined;
  return text === undefined ? undefined : Number(text);
}

export const countPassages = (database: Database): number =>
  numberOf(database, "select count(*) from passages");

export function descriptionOf(
  database: Database,
  name: string,
  dimension: number,
): CollectionDescription {
  const embedding = readMeta(database, "embedding");
  return {
    ...{ name, dimension, distance: "cosine", url: "embedded" },
    ...(embedding !== undefined && { embedding: toIdentity(embedding) }),
  };
}

function toIdentity(text: string): EmbeddingIdentity {
  const { model, fingerprint, queryPrefix, documentPrefix } = JSON.parse(text);
  return { model, fingerprint, queryPrefix, documentPrefix };
}

export function describeOnce(database: Database, { dimension, embedding }: CollectionSpec): void {
  database
    .transaction(() => {
      if (dimensionIn(database) !== undefined) return;
      writeMeta(database, "embedding", JSON.stringify(embedding));
      writeMeta(database, "dimension", String(dimension));
    })
    .immediate();
}

/** Deletes the collection's spec, so that it is not opened any more. */
export function forget(database: Database): void {
  // The version of the words belongs to the file's tables, which stay.
  database.run("delete from meta where key <> 'words'");
}

export function empty(database: Database): void {
  database
    .transaction(() => {
      database.run("delete from passages");
      forget(database);
    })
    .immediate();
  database.run("vacuum");
  database.run("pragma wal_checkpoint(truncate)");
}

export function readMeta(database: Database, key: string): string | undefined {
  const sql = "select value from meta where key = ?";
  return rowOf<{ value: string }>(database, sql, key)?.value;
}

export function writeMeta(database: Database, key: string, value: string): void {
  change(database, "insert or replace into meta (key, value) values (?, ?)", key, value);
}

/** How long SQLite itself waits for another process, which blocks the event loop. */
const busyMs = 50;
/** How long a write waits for another process in all. */
const longestWaitMs = 10_000;

export const busyTimeout = `pragma busy_timeout = ${busyMs}`;

/** Runs a write to a collection, and explains SQLite's errors. While another process writes, others get their turn. */
export async function writing<Result>(collection: string, write: () => Result): Promise<Result> {
  const end = performance.now() + longestWaitMs;
  for (;;) {
    try {
      return write();
    } catch (cause) {
      if (hasCode(cause, "SQLITE_BUSY") && performance.now() < end) {
        await pauseFor(busyMs);
        continue;
      }
      const remedy = remedyFor(cause);
      if (remedy === undefined) throw cause;
      const why = `The collection '${collection}' cannot be written: ${remedy}. (${reasonOf(cause)})`;
      throw new NodeError("unavailable", why, { cause });
    }
  }
}

/** Rows to remove at a time, with their words: some tens of milliseconds. */
const slice = 512;

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Removes rows in slices, yielding in between; returns how many there were. If interrupted, only some are removed. */
export async function removeInSlices(
  database: Database,
  collection: string,
  rows: readonly { key: number }[],
): Promise<number> {
  const sql = "delete from passages where key in (select value from json_each(?))";
  let removed = 0;
  for (let start = 0; start < rows.length; start += slice) {
    if (start > 0) await turn();
    const some = JSON.stringify(rows.slice(start, start + slice).map(({ key }) => key));
    removed += await writing(collection, () => change(database, sql, some));
  }
  return removed;
}

/** SQLite's bytes may have any offset; floats need a multiple of four. */
export function toVector(bytes: Uint8Array): Float32Array {
  return bytes.byteOffset % 4 === 0
    ? new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
    : new Float32Array(bytes.slice().buffer);
}
