import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { cp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { PassageRepository } from "../../../../src/core/ports/passage-repository.ts";
import { prepareTables } from "../../../../src/store/sqlite/collection-file.ts";
import { SqliteCollectionStore } from "../../../../src/store/sqlite/sqlite-collections.ts";
import {
  type IndexFile,
  readIndexFile,
  VectorIndex,
  writeIndexFile,
} from "../../../../src/store/sqlite/vector-index.ts";
import { passage } from "../../../support/passages.ts";
import { randomNumbers } from "../../../support/random-llama.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { rejectionOf } from "../../../support/rejection.ts";
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
const queries = Array.from({ length: 20 }, () => passage(0, vector()).vector);
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
  const repository = await new SqliteCollectionStore(folder.path, silentLog).create(
    "big",
    specOf(dimension),
  );
  return repository;
}

let whole: TempDir;
beforeAll(async () => {
  whole = await tempDir();
  await using repository = await opened(whole);
  await repository.upsert(many);
  await indexed(whole);
});
afterAll(() => whole[Symbol.asyncDispose]());

/** A folder of the collection and its index. */
async function filled(): Promise<TempDir> {
  const folder = await tempDir();
  await cp(whole.path, folder.path, { recursive: true });
  return folder;
}

/** Waits until the index is on disk. */
async function indexed(folder: TempDir): Promise<string> {
  let file: string | undefined;
  await waitFor("the index to be written", async () => {
    file = (await readdir(folder.path)).find((name) => name.endsWith(".usearch"));
    const database = new Database(join(folder.path, "big.sqlite"), { readonly: true });
    const row = database
      .query<{ value: string }, []>("select value from meta where key = 'index'")
      .get();
    database.close();
    return file !== undefined && row?.value.includes(file) === true;
  });
  return join(folder.path, file ?? "");
}

describe("an index's file", () => {
  /** How often others had their turn while the work was done. */
  async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await work();
    isOver = true;
    return turns;
  }

  test("is synced, read back and checked while others have their turn", async () => {
    await using folder = await tempDir();
    const content = new Uint8Array(32 << 20).fill(7);
    let written: IndexFile | undefined;
    const writing = await turnsDuring(async () => {
      written = await writeIndexFile(folder.path, "big", (path) => writeFile(path, content));
    });
    expect(writing).toBeGreaterThan(16);
    const { file, bytes, checksum } = written ?? { file: "", bytes: 0, checksum: "" };
    expect([bytes, await readdir(folder.path)]).toEqual([content.length, [file]]);
    const loaded: string[] = [];
    const load = async (path: string): Promise<void> => void loaded.push(path);
    const reading = await turnsDuring(() =>
      readIndexFile(folder.path, { file, bytes, checksum }, load, () => false),
    );
    expect(reading).toBeGreaterThan(16);
    expect(loaded).toEqual([join(folder.path, file)]);
  });

  test("is checked in slices that never follow each other without a turn for others", async () => {
    await using folder = await tempDir();
    const content = new Uint8Array(32 << 20).fill(7);
    const save = (path: string): Promise<void> => writeFile(path, content);
    const written = await writeIndexFile(folder.path, "big", save);
    let slices = 0;
    let most = 0;
    let isOver = false;
    const turn = (): void => {
      most = Math.max(most, slices);
      slices = 0;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    // It is asked before each slice.
    const isUnwanted = (): boolean => {
      slices += 1;
      return false;
    };
    expect(await readIndexFile(folder.path, written, async () => {}, isUnwanted)).toBe(true);
    isOver = true;
    expect(most).toBeLessThanOrEqual(2);
  });

  test("is not left behind where it could not be written", async () => {
    await using folder = await tempDir();
    const failing = writeIndexFile(folder.path, "big", async (path) => {
      await writeFile(path, "half");
      throw new Error("no space");
    });
    expect(String(await rejectionOf(failing))).toContain("no space");
    expect(await readdir(folder.path)).toEqual([]);
  });
});

describe("a large collection", () => {
  test("that is dropped while its index is saved stays dropped", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    {
      await using repository = await opened(folder);
      await repository.upsert(many);
      await waitFor("the file", () =>
        readdirSync(folder.path).some((name) => name.includes(".usearch")),
      );
      await store.drop("big");
    }
    expect(await store.list()).toEqual([]);
    expect((await readdir(folder.path)).filter((name) => name.endsWith(".usearch"))).toEqual([]);
  });

  test("answers while its index grows, and after", async () => {
    await using folder = await tempDir();
    await using repository = await opened(folder);
    await repository.upsert(many);
    await expectExact(repository);
    await indexed(folder);
    await expectExact(repository);
  });

  test("finds each passage once while rows go into the index", async () => {
    await using folder = await tempDir();
    await using repository = await opened(folder);
    let stored = 0;
    for (; stored < many.length; stored += 300) {
      await repository.upsert(many.slice(stored, stored + 300));
      const found = await Promise.all(queries.map((query) => repository.search(query, bounds)));
      for (const passages of found) expect(new Set(passages.map(({ id }) => id)).size).toBe(5);
      await expectExact(repository, many.slice(0, stored + 300));
    }
  });

  test("is compared row by row where its index cannot be had, and says so once", async () => {
    const database = new Database(":memory:", { strict: true });
    prepareTables(database);
    const insert = database.query(
      `insert into passages (id, document, heading, position, hash, document_hash, parts, vector, source, terms)
       values (?, 'a.md', '', 0, '', '', 1, ?, '', '')`,
    );
    for (let at = 0; at < 300; at++) insert.run(`${at}`, new Uint8Array(0));
    const { log, lines } = recordingLog();
    // No index has vectors of no numbers.
    const index = new VectorIndex({
      ...{ database, collection: "big", dimension: 0, folder: undefined, log },
    });
    const query = new Float32Array(2);
    expect(await index.nearest(query, 5)).toEqual({ keys: [], lastKey: 0 });
    await waitFor("the word of it", () => lines.length > 0);
    index.follow();
    expect(await index.nearest(query, 5)).toEqual({ keys: [], lastKey: 0 });
    await index.close();
    database.close();
    expect(lines).toMatchObject([
      { level: "warn", fields: { reason: expect.stringContaining("dimensions") } },
    ]);
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
    await waitFor("another file in its place", () => {
      const files = readdirSync(folder.path);
      return !files.includes(basename(before)) && files.some((file) => file.endsWith(".usearch"));
    });
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
    const store = new SqliteCollectionStore(join(folder.path, "gone"), log);
    await using repository = await store.create("big", specOf(dimension));
    await repository.upsert(many);
    await rm(join(folder.path, "gone"), { recursive: true });
    await waitFor("the word of it", () => lines.length > 0);
    expect(lines).toMatchObject([{ level: "warn", fields: { collection: "big" } }]);
    await expectExact(repository);
  });

  test("is gone when it is dropped, also for those that have it open, who see what comes after", async () => {
    await using folder = await filled();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    await using reader = await opened(folder);
    await expectExact(reader);
    const before = (await stat(join(folder.path, "big.sqlite"))).size;
    await store.drop("big");
    expect(await store.list()).toEqual([]);
    expect(await store.open("big")).toBeUndefined();
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
