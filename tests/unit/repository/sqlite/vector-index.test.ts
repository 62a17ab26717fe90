import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { PassageRepository } from "../../../../src/core/ports/passage-repository.ts";
import { SqliteHome } from "../../../../src/repository/sqlite/sqlite-home.ts";
import { passage } from "../../../support/passages.ts";
import { randomNumbers } from "../../../support/random-llama.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { silentLog } from "../../../support/silence.ts";
import { type TempDir, tempDir } from "../../../support/temp-dir.ts";
import { specOf } from "../../../support/test-models.ts";
import { waitFor } from "../../../support/wait-for.ts";

const dimension = 16;
const random = randomNumbers(5);
const vector = (): number[] => Array.from({ length: dimension }, () => random() - 0.5);
const many = Array.from({ length: 1500 }, (_, at) =>
  passage(at, vector(), { document: `${at % 10}.md`, source: `Passage number ${at}` }),
);
const queries = Array.from({ length: 50 }, () => passage(0, vector()).vector);
const bounds = { limit: 5, scoreThreshold: -1 };

/** What an exact scan finds. */
const exact = (query: Float32Array, among: typeof many): string[] =>
  among
    .map(({ id, vector: own }) => ({
      id,
      score: own.reduce((sum, value, at) => sum + value * (query[at] ?? 0), 0),
    }))
    .sort((a, b) => b.score - a.score)
    .slice(0, 5)
    .map(({ id }) => id);

async function expectExact(repository: PassageRepository, among = many): Promise<void> {
  let hits = 0;
  for (const query of queries) {
    const wanted = new Set(exact(query, among));
    const found = await repository.search(query, bounds);
    hits += found.filter(({ id }) => wanted.has(id)).length;
  }
  expect(hits / (queries.length * 5)).toBeGreaterThanOrEqual(0.99);
}

async function opened(folder: TempDir): Promise<PassageRepository> {
  const repository = await new SqliteHome(folder.path, silentLog).create("big", specOf(dimension));
  return repository;
}

async function filled(): Promise<TempDir> {
  const folder = await tempDir();
  await using repository = await opened(folder);
  await repository.upsert(many);
  await indexed(folder);
  return folder;
}

/** Waits until the index is on disk. */
async function indexed(folder: TempDir): Promise<string> {
  const deadline = Date.now() + 30_000;
  while (Date.now() < deadline) {
    const file = (await readdir(folder.path)).find((name) => name.endsWith(".usearch"));
    const database = new Database(join(folder.path, "big.sqlite"), { readonly: true });
    const row = database
      .query<{ value: string }, []>("select value from meta where key = 'index'")
      .get();
    database.close();
    if (file !== undefined && row?.value.includes(file) === true) return join(folder.path, file);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error("The index was not written");
}

describe("a large collection", () => {
  test("answers while its index grows, and after", async () => {
    await using folder = await tempDir();
    await using repository = await opened(folder);
    await repository.upsert(many);
    await expectExact(repository);
    await indexed(folder);
    await expectExact(repository);
  });

  test("answers from the index that it finds when it is opened", async () => {
    await using folder = await filled();
    const before = await indexed(folder);
    await using repository = await opened(folder);
    await expectExact(repository);
    expect(await indexed(folder)).toBe(before);
  });

  test.each<[string, (file: string) => Promise<void>]>([
    ["is missing", (file) => rm(file)],
    ["was cut short", async (file) => writeFile(file, (await readFile(file)).subarray(0, 5000))],
    [
      "has a byte that is another",
      async (file) => {
        const bytes = await readFile(file);
        bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 0xff;
        await writeFile(file, bytes);
      },
    ],
    ["is another file altogether", (file) => writeFile(file, "not an index")],
  ])("builds its index anew where the file %s", async (_, damage) => {
    await using folder = await filled();
    const before = await indexed(folder);
    await damage(before);
    await using repository = await opened(folder);
    await expectExact(repository);
    // The new file takes the old one's place once it is whole.
    const deadline = Date.now() + 30_000;
    while ((await readdir(folder.path)).includes(basename(before)) && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await expectExact(repository);
  });

  test("finds what came after its index was written", async () => {
    await using folder = await filled();
    const more = Array.from({ length: 20 }, (_, at) => passage(5000 + at, vector()));
    {
      await using repository = await opened(folder);
      await repository.upsert(more);
    }
    await using repository = await opened(folder);
    await expectExact(repository, [...many, ...more]);
  });

  test("forgets what was removed, in this process and in others", async () => {
    await using folder = await filled();
    await using reader = await opened(folder);
    await expectExact(reader);
    {
      await using writer = await opened(folder);
      expect(await writer.delete("3.md")).toBe(150);
    }
    const left = many.filter(({ document }) => document !== "3.md");
    await expectExact(reader, left);
    await using again = await opened(folder);
    await expectExact(again, left);
  });

  test("finds a passage whose vector changed where it is now, not where it was", async () => {
    await using folder = await filled();
    await using repository = await opened(folder);
    const [query] = queries;
    const [first] = many;
    if (query === undefined || first === undefined) throw new Error("there are some");
    await repository.upsert([{ ...first, vector: query }]);
    const [nearest] = await repository.search(query, bounds);
    expect(nearest).toMatchObject({ id: first.id });
    expect(nearest?.score).toBeCloseTo(1, 5);
    const atOldPlace = await repository.search(first.vector, bounds);
    expect(atOldPlace[0]?.score ?? 1).toBeLessThan(0.999);
    expect(await repository.count()).toBe(many.length);
  });

  test("answers without an index where none can be kept, and says so", async () => {
    await using folder = await tempDir();
    const { log, lines } = recordingLog();
    const home = new SqliteHome(join(folder.path, "gone"), log);
    await using repository = await home.create("big", specOf(dimension));
    await repository.upsert(many);
    await rm(join(folder.path, "gone"), { recursive: true });
    await waitFor("the word of it", () => lines.length > 0);
    expect(lines).toMatchObject([{ level: "warn", fields: { collection: "big" } }]);
    await expectExact(repository);
  });

  test("is gone when it is dropped, also for those that have it open, who see what comes after", async () => {
    await using folder = await filled();
    const home = new SqliteHome(folder.path, silentLog);
    await using reader = await opened(folder);
    await expectExact(reader);
    const before = (await stat(join(folder.path, "big.sqlite"))).size;
    await home.drop("big");
    expect(await home.list()).toEqual([]);
    expect(await home.open("big")).toBeUndefined();
    expect(await readdir(folder.path)).not.toContainEqual(expect.stringContaining(".usearch"));
    expect((await stat(join(folder.path, "big.sqlite"))).size).toBeLessThan(before);
    expect(await reader.search(queries[0] ?? new Float32Array(0), bounds)).toEqual([]);
    const after = many.slice(0, 30);
    {
      await using writer = await opened(folder);
      await writer.upsert(after);
    }
    await expectExact(reader, after);
  });
});
