/** The tables of `responses.sqlite`. */
import type { TablesOfVersion } from "../own-database.ts";

/** Those that are made behind their requests, and not done yet. */
export const unfinished = "status in ('queued', 'in_progress')";

/** The total is kept along: adding up a large table at every change would take its time. */
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

export const responseTables: TablesOfVersion = { version: 1, sql };
