/** Reads what a collection's file holds and checks its integrity, without changing it. */
import type { CollectionDescription } from "../../core/ports/passage-repository.ts";
import { openReadOnly } from "./read-only-database.ts";
import { readMeta } from "./schema.ts";
import { toIdentity } from "./sqlite-repository.ts";

export interface InspectedCollection {
  description: CollectionDescription;
  passages: number;
  /** Problems that SQLite's integrity check found. */
  faults: readonly string[];
}

/** Undefined where the file holds no collection. */
export function inspectCollection(name: string, path: string): InspectedCollection | undefined {
  using database = openReadOnly(path);
  const faults = database
    .query<{ quick_check: string }, []>("pragma quick_check(3)")
    .all()
    .map(({ quick_check: said }) => said)
    .filter((said) => said !== "ok");
  const hasMeta = database.query("select 1 from sqlite_master where name = 'meta'").get() !== null;
  const dimension = hasMeta ? readMeta(database, "dimension") : undefined;
  if (dimension === undefined) return undefined;
  const embedding = readMeta(database, "embedding");
  const row = database.query<{ count: number }, []>("select count(*) as count from passages").get();
  return {
    description: {
      name,
      dimension: Number(dimension),
      distance: "cosine",
      url: "embedded",
      ...(embedding === undefined ? {} : { embedding: toIdentity(embedding) }),
    },
    passages: row?.count ?? 0,
    faults,
  };
}
