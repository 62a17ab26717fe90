/** The tables of `responses.sqlite`. */
import type { TablesOfVersion } from "../own-database.ts";

/** Those that are made behind their requests, and not done yet. */
export const unfinished = "status in ('queued', 'in_progress')";

/** Owners by the ids that an older version knew them by. */
export type FormerOwners = Readonly<Record<string, string>>;

/**
 * What each owner stores is kept along: adding up a large table at every change would take its time.
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

export const responseTables = (former: FormerOwners): TablesOfVersion => ({
  version: 2,
  sql,
  upgrade: (database) => {
    database.run(`
      drop trigger response_added;
      drop trigger response_changed;
      drop trigger response_removed;
      drop table totals;
    `);
    // Configured keys were known by their places. This once the list is taken to be as it was.
    const rename = database.query<void, [string, string]>(
      "update responses set owner = ? where owner = ?",
    );
    for (const [before, owner] of Object.entries(former)) rename.run(owner, before);
    database.run(owners);
    database.run(`
      insert into owners select coalesce(owner, ''), sum(bytes) from responses group by 1;
    `);
  },
});
