/** The tables of a collection's file, and the migration of older files. */
import type { Database } from "bun:sqlite";
import type { CollectionSpec } from "../../core/ports/passage-repository.ts";

const version = 1;

/**
 * A passage whose vector changes gets a new key, and a key is never used twice, so an index of keys
 * is brought up to date by what lies beyond the last key and by what was removed since.
 */
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
    source text not null
  ) strict;
  create index passages_by_document on passages (document, document_hash, parts);
  create table removed (seq integer primary key autoincrement, key integer not null) strict;
  create virtual table words using fts5 (
    source, content = 'passages', content_rowid = 'key',
    tokenize = 'porter unicode61 remove_diacritics 2'
  );
  create virtual table word_counts using fts5vocab (words, row);
  create trigger passage_added after insert on passages begin
    insert into words (rowid, source) values (new.key, new.source);
  end;
  create trigger passage_removed after delete on passages begin
    insert into words (words, rowid, source) values ('delete', old.key, old.source);
    insert into removed (key) values (old.key);
  end;
`;

/** Makes the tables where there are none; safe when two processes open the file at once. */
export function prepareTables(database: Database): void {
  if (versionOf(database) === version) return;
  database
    .transaction(() => {
      const found = versionOf(database);
      if (found === version) return;
      if (found > version) {
        throw new Error(
          `its file was written by a newer Paddock (format ${found}; this one knows ${version})`,
        );
      }
      const isOld = tableExists(database, "passages");
      if (isOld) {
        database.run("alter table passages rename to old_passages");
        database.run("drop index passages_by_document");
        database.run("alter table meta rename to old_meta");
      }
      database.run(tables);
      if (isOld) migrate(database);
      database.run(`pragma user_version = ${version}`);
    })
    .immediate();
}

/** Version 1 had neither headings nor digests, so every document counts as changed at its next ingest. */
function migrate(database: Database): void {
  database.run(`
    insert into passages (id, document, heading, position, hash, document_hash, parts, vector, source)
    select id, document, '', 0, '', '', 0, vector, source from old_passages order by rowid`);
  database.run("insert into meta select key, value from old_meta");
  database.run("drop table old_passages");
  database.run("drop table old_meta");
}

function versionOf(database: Database): number {
  const row = database.query<{ user_version: number }, []>("pragma user_version").get();
  return row?.user_version ?? 0;
}

function tableExists(database: Database, name: string): boolean {
  return (
    database.query("select 1 from sqlite_master where type = 'table' and name = ?").get(name) !==
    null
  );
}

/** Stores what the collection is for, unless that is stored already. */
export function describeOnce(database: Database, { dimension, embedding }: CollectionSpec): void {
  database
    .transaction(() => {
      if (readMeta(database, "dimension") !== undefined) return;
      writeMeta(database, "embedding", JSON.stringify(embedding));
      writeMeta(database, "dimension", String(dimension));
    })
    .immediate();
}

/** Deletes all passages, and what the collection was for. */
export function empty(database: Database): void {
  database
    .transaction(() => {
      database.run("delete from passages");
      database.run("delete from meta");
    })
    .immediate();
  database.run("vacuum");
  database.run("pragma wal_checkpoint(truncate)");
}

export function readMeta(database: Database, key: string): string | undefined {
  return database
    .query<{ value: string }, [string]>("select value from meta where key = ?")
    .get(key)?.value;
}

export function writeMeta(database: Database, key: string, value: string): void {
  database
    .query<void, [string, string]>(
      "insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value",
    )
    .run(key, value);
}
