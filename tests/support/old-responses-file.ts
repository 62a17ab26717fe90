/** A file of stored responses as version 0.2.0 wrote it, when configured keys were known by their places. */
import { Database } from "bun:sqlite";

const tables = `
  create table responses (
    seq integer primary key autoincrement, id text not null unique, owner text,
    created_at integer not null, status text not null, failure text, background integer not null,
    body text not null, input text not null, conversation text not null,
    bytes integer not null generated always as
      (octet_length(body) + octet_length(input) + octet_length(conversation)) stored
  ) strict;
  create index responses_by_age on responses (created_at, seq);
  create index responses_unfinished on responses (seq) where status in ('queued', 'in_progress');
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
  pragma user_version = 1;
`;

/** Responses by their ids, each with its owner. */
export function oldResponsesFile(path: string, owners: Record<string, string | null>): void {
  using database = new Database(path, { create: true });
  database.run(tables);
  const insert = database.query(
    `insert into responses (id, owner, created_at, status, background, body, input, conversation)
     values (?, ?, ?, 'completed', 0, '{}', '[]', '[]')`,
  );
  for (const [id, owner] of Object.entries(owners)) insert.run(id, owner, Date.now());
}
