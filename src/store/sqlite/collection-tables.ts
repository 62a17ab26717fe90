/** The tables of a collection's SQLite file, and the migration of older files. */
import type { Database } from "bun:sqlite";
import { change, numberChanges, rowOf, rowsOf, versionOf } from "../database.ts";
import { wordForm, wordsOf } from "../split-words.ts";

const version = 3;

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
  create table removed (seq integer primary key autoincrement, key integer not null) strict;
`;

/**
 * Of words and vectors, by segments of consecutive passages; `first_key` to `last_key` of one are
 * in no other. Each insert must bring the passage's words; one by an older version, which has none, is rejected.
 */
const indexTables = `
  create table segments (
    id integer primary key autoincrement,
    first_key integer not null,
    last_key integer not null,
    count integer not null,
    vectors text not null,
    graph text,
    keys blob not null,
    lengths blob not null
  ) strict;
  create table postings (
    segment integer not null,
    term text not null,
    data blob not null,
    primary key (segment, term)
  ) strict, without rowid;
  create index if not exists removed_by_key on removed (key);
  create table totals (passages integer not null) strict;
  create trigger passage_without_words before insert on passages when new.terms is null begin
    select raise (abort, 'a passage came without its words, from an older Paddock');
  end;
  create trigger passage_added after insert on passages begin
    update totals set passages = passages + 1;
  end;
  create trigger passage_removed after delete on passages begin
    insert into removed (key) values (old.key);
    update totals set passages = passages - 1;
  end;
`;

export const termsOf = (source: string): string => wordsOf(source).join(" ");

/** A read-only file may be older, and have none. */
export const hasSegments = (database: Database): boolean => versionOf(database) === version;

/** Whether the file's words match those of a question; a read-only file may be older. */
export const hasCurrentWords = (database: Database): boolean =>
  hasSegments(database) && readMeta(database, "words") === String(wordForm);

/** Safe when two processes open the file at once. `onRebuild`: called before a slow upgrade of an older file. */
export function prepareTables(database: Database, onRebuild: () => void = () => {}): void {
  if (hasCurrentWords(database) && has(database, "passages_by_position")) return;
  database
    .transaction(() => {
      const found = versionOf(database);
      if (found > version) {
        const why = `its file was written by a newer Paddock, which can use it (format ${found}; this one knows ${version})`;
        throw new Error(why);
      }
      if (found > 0) onRebuild();
      if (found === 0) makeTables(database);
      if (found === 1) database.run("alter table passages add column terms text");
      if (!hasCurrentWords(database)) rebuildIndex(database);
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
  // A file that has tables already is known by the number that it has.
  if (isOld) migrate(database);
  else numberChanges(database);
}

/** Drops the index, which follows the rows again in the background; keys and vectors stay. */
function rebuildIndex(database: Database): void {
  for (const trigger of ["passage_without_words", "passage_added", "passage_removed"]) {
    database.run(`drop trigger if exists ${trigger}`);
  }
  for (const table of ["word_counts", "words", "segments", "postings", "totals"]) {
    database.run(`drop table if exists ${table}`);
  }
  if (readMeta(database, "words") !== String(wordForm)) rebuildWords(database);
  database.run("delete from meta where key = 'index'");
  database.run("delete from removed");
  database.run(indexTables);
  database.run("insert into totals select count(*) from passages");
}

function rebuildWords(database: Database): void {
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

export const has = (database: Database, name: string): boolean =>
  rowOf(database, "select 1 from sqlite_master where name = ?", name) !== undefined;

export function readMeta(database: Database, key: string): string | undefined {
  const sql = "select value from meta where key = ?";
  return rowOf<{ value: string }>(database, sql, key)?.value;
}

export function writeMeta(database: Database, key: string, value: string): void {
  change(database, "insert or replace into meta (key, value) values (?, ?)", key, value);
}
