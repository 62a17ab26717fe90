import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { SqliteCollectionStore } from "../../src/store/sqlite/sqlite-collections.ts";
import { batchOf, batchSize, documentOf, isRemoved, sizes } from "../support/index-forever.ts";
import { silentLog } from "../support/silence.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

const script = join(import.meta.dir, "..", "support", "index-forever.ts");

/** Runs the script until it has said so many lines, and kills it; returns what it said. */
async function killedAfter(lines: number, folder: string): Promise<string[]> {
  const writer = Bun.spawn([process.execPath, script, folder], {
    stdout: "pipe",
    stderr: "inherit",
  });
  let said = "";
  for await (const text of writer.stdout.pipeThrough(new TextDecoderStream())) {
    said += text;
    if (said.split("\n").length > lines) writer.kill("SIGKILL");
  }
  await writer.exited;
  return said.split("\n").slice(0, -1);
}

test("a collection has, after a kill -9 while it is indexed and passages are removed, all that was stored", async () => {
  for (const lines of [3, 8, 21]) {
    await using folder = await tempDir();
    const said = await killedAfter(lines, folder.path);
    const numbers = (verb: string): number[] =>
      said.filter((line) => line.startsWith(verb)).map((line) => Number(line.split(" ")[1]));
    const stored = numbers("stored");
    const removed = new Set(numbers("removed"));
    await using repository = await new SqliteCollectionStore(folder.path, silentLog, sizes).open(
      "killed",
    );
    if (repository === undefined) throw new Error("it was stored");
    const check = async (): Promise<void> => {
      for (const batch of stored) {
        // One whose removal was under way may be there or not.
        if (isRemoved(batch) && !removed.has(batch)) continue;
        const [first] = batchOf(batch);
        if (first === undefined) continue;
        const bounds = { limit: 1, scoreThreshold: -1 };
        const only = { only: new Set([documentOf(batch)]) };
        const [nearest] = await repository.search(first.vector, bounds, only);
        const [worded] = await repository.matchWords(`n${batch * batchSize}`, first.vector, 1);
        const wanted = removed.has(batch) ? undefined : first.id;
        expect([nearest?.id, worded?.id]).toEqual([wanted, wanted]);
      }
    };
    await check();
    const file = (): Database =>
      new Database(join(folder.path, "killed.sqlite"), { readonly: true });
    await waitFor("what was left of the index", () => {
      using database = file();
      const sql =
        "select count(*) as bare from segments where graph is null and last_key < (select max(last_key) from segments)";
      return database.query<{ bare: number }, []>(sql).get()?.bare === 0;
    });
    await check();
    using database = file();
    const count = database.query<{ count: number }, []>("select count(*) as count from passages");
    expect(await repository.count()).toBe(count.get()?.count ?? -1);
    expect(database.query("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
  }
});
