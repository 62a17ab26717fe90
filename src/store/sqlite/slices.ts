/** Work on many rows in slices, between which others get their turn. */
import type { Database } from "bun:sqlite";
import { writing } from "./errors.ts";

/** Rows that are removed at a time, with their words: some tens of milliseconds. */
const slice = 512;

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Removes rows by their keys; says how many there were. One that is interrupted is not whole. */
export async function removeInSlices(
  database: Database,
  collection: string,
  keys: readonly number[],
): Promise<number> {
  const remove = database.query<void, [string]>(
    "delete from passages where key in (select value from json_each(?))",
  );
  let removed = 0;
  for (let start = 0; start < keys.length; start += slice) {
    if (start > 0) await turn();
    const some = JSON.stringify(keys.slice(start, start + slice));
    removed += writing(collection, () => remove.run(some).changes);
  }
  return removed;
}
