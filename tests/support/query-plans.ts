/** How SQLite answers what some work asks it: the steps of its plans. */
import { Database } from "bun:sqlite";
import { spyOn } from "bun:test";

export function queryPlans(database: Database, work: () => unknown): string[] {
  using queries = spyOn(Database.prototype, "query");
  work();
  const asked = queries.mock.calls.map(([sql]) => sql);
  if (asked.length === 0) throw new Error("Nothing was asked.");
  return asked.flatMap((sql) =>
    database
      .prepare<{ detail: string }, []>(`explain query plan ${sql}`)
      .all()
      .map(({ detail }) => detail),
  );
}
