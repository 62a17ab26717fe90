import { Database } from "bun:sqlite";
import { afterEach, expect, spyOn, test } from "bun:test";
import { readdirSync } from "node:fs";
import { Index } from "usearch";
import { SqliteCollectionStore } from "../../../../src/store/sqlite/sqlite-collections.ts";
import { collect } from "../../../support/collect.ts";
import { passage } from "../../../support/passages.ts";
import { silentLog } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { specOf } from "../../../support/test-models.ts";

/** What blocks its thread; a worker has classes of its own, which are not watched. */
const watched = [
  spyOn(Database.prototype, "query"),
  spyOn(Database.prototype, "prepare"),
  spyOn(Database.prototype, "run"),
  spyOn(Database.prototype, "transaction"),
  spyOn(Index.prototype, "add"),
  spyOn(Index.prototype, "search"),
];
const callsHere = (): unknown[] => watched.flatMap((spy): unknown[] => spy.mock.calls);
afterEach(() => {
  for (const spy of watched) spy.mockRestore();
});

test("nothing of a collection runs on the node's loop", async () => {
  await using folder = await tempDir();
  const store = new SqliteCollectionStore(folder.path, silentLog, { least: 250, most: 500 });
  const many = Array.from({ length: 1200 }, (_, at) =>
    passage(at, [Math.sin(at), Math.cos(at), 1], {
      document: `${at % 5}.md`,
      source: `The llama number ${at}`,
    }),
  );
  const [first] = many;
  if (first === undefined) throw new Error("there are some");
  {
    await using repository = await store.create("watched", specOf(3));
    await repository.upsert(many);
    const bounds = { limit: 5, scoreThreshold: -1 };
    const only = { only: new Set(["1.md", "2.md"]) };
    const except = { except: new Set(["0.md"]) };
    for (const documents of [undefined, only, except]) {
      expect(await repository.search(first.vector, bounds, documents)).toHaveLength(5);
      expect(await repository.matchWords("llama 7", first.vector, 5, documents)).not.toEqual([]);
    }
    expect(await repository.documents()).toHaveLength(5);
    expect(await repository.count()).toBe(1200);
    expect(await repository.revision()).not.toBe("");
    expect(await repository.describe()).toMatchObject({ dimension: 3 });
    expect(await repository.read([first.id])).toHaveLength(1);
    expect(await repository.page("1.md", { from: 0, limit: 10 })).toHaveLength(10);
    expect(await collect(repository.passages("1.md"))).toHaveLength(240);
    expect(await repository.delete("1.md")).toBe(240);
  }
  expect(await store.list()).toEqual(["watched"]);
  await store.drop("watched");
  expect(await store.open("watched")).toBeUndefined();
  expect(callsHere()).toEqual([]);
});

const threads = (): number => readdirSync("/proc/self/task").length;

test.skipIf(process.platform !== "linux")(
  "the folder is looked at once for all that ask at the same time",
  async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    await (await store.create("notes", specOf(3)))[Symbol.asyncDispose]();
    const before = threads();
    let most = before;
    const watching = setInterval(() => {
      most = Math.max(most, threads());
    });
    const lists = await Promise.all(Array.from({ length: 40 }, () => store.list()));
    clearInterval(watching);
    expect(lists).toEqual(lists.map(() => ["notes"]));
    expect(most - before).toBeLessThan(20);
  },
);
