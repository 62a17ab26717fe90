/** The tables of stored responses, and what an older version's file needs. */
import type { Database } from "bun:sqlite";
import { change, inTransaction, numberOf, type TablesOfVersion } from "../database.ts";

export const unfinished = "status in ('queued', 'in_progress')";

/** Adding up a large table at every change would be slow. Callers without a key are the owner with the empty name. */
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

export const responseTables: TablesOfVersion = {
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

/** Owners by their ids in an older version. */
export type FormerOwners = Readonly<Record<string, string>>;

/** The owner's name for a configured key in the first version: its place in the list. */
const isPlace = "owner glob 'configured [0-9]*' and length(owner) < 20";

/** Names the keys now at these places, once; the rest belongs to nobody. Waits while no keys are configured. */
export function renameOwners(database: Database, former: FormerOwners): void {
  const names = Object.entries(former);
  const isDue = numberOf(database, `select count(*) from owners where ${isPlace}`) > 0;
  if (names.length === 0 || !isDue) return;
  inTransaction(database, () => {
    for (const [before, owner] of names) {
      change(database, "update responses set owner = ? where owner = ?", owner, before);
    }
    database.run(`update responses set owner = 'formerly ' || owner where ${isPlace}`);
  });
}
