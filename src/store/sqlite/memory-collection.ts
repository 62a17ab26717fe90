/** A collection that lives in memory, in the thread that creates it: for dry runs. */
import { noLog } from "../../core/log.ts";
import type { CollectionSpec } from "../../core/ports/passage-repository.ts";
import { inThisThread } from "../thread-calls.ts";
import { CollectionRows } from "./collection-rows.ts";
import { SqliteRepository } from "./sqlite-repository.ts";

export function inMemory(name: string, spec: CollectionSpec): SqliteRepository {
  const rows = new CollectionRows({ name, path: ":memory:" });
  const opened = rows.open(spec);
  if (opened === undefined) throw new Error("a collection in memory is created when it is opened");
  const thread = inThisThread(rows);
  const threads = { questions: thread, words: thread, changes: thread };
  return new SqliteRepository(name, opened, threads, noLog);
}
