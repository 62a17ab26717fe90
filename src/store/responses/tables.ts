/** The tables of `responses.sqlite`. */
import type { Database } from "bun:sqlite";

const version = 1;

/** Those that are made behind their requests, and not done yet. */
export const unfinished = "status in ('queued', 'in_progress')";

/** The total is kept along: adding up a large table at every change would take its time. */
const tables = `
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
  create table totals (bytes integer not null) strict;
  insert into totals values (0);
  create trigger response_added after insert on responses begin
    update totals set bytes = bytes + new.bytes;
  end;
  create trigger response_changed after update on responses begin
    update totals set bytes = bytes + new.bytes - old.bytes;
  end;
  create trigger response_removed after delete on responses begin
    update totals set bytes = bytes - old.bytes;
  end;
`;

/** Makes them where there are none; safe when two processes open the file at once. */
export function prepareTables(database: Database): void {
  if (versionOf(database) === version) return;
  database
    .transaction(() => {
      const found = versionOf(database);
      if (found === version) return;
      if (found > version) {
        throw new Error(
          `it was written by a newer Paddock (format ${found}; this one knows ${version})`,
        );
      }
      database.run(tables);
      database.run(`pragma user_version = ${version}`);
    })
    .immediate();
}

function versionOf(database: Database): number {
  const row = database.query<{ user_version: number }, []>("pragma user_version").get();
  return row?.user_version ?? 0;
}
