import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { cp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PassageRepository } from "../../../../src/core/ports/passage-repository.ts";
import { isWhole, writeIndexFile } from "../../../../src/store/sqlite/index-file.ts";
import { SqliteCollectionStore } from "../../../../src/store/sqlite/sqlite-collections.ts";
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
const queries = Array.from({ length: 20 }, () => passage(0, vector()).vector);
const bounds = { limit: 5, scoreThreshold: -1 };

/** From now on, the time after which an index that could not be built is tried again has passed. */
function afterThePause(): Disposable {
  const now = performance.now.bind(performance);
  return spyOn(performance, "now").mockImplementation(() => now() + 300_000);
}

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
  // Threads build a graph in another order each time, and now and then one misses a neighbour.
  expect(hits / (queries.length * 5)).toBeGreaterThanOrEqual(0.95);
}

/** So that 1,500 passages are three segments with graphs. */
const sizes = { least: 250, most: 500 };

const storeIn = (folder: TempDir): SqliteCollectionStore =>
  new SqliteCollectionStore(folder.path, silentLog, sizes);

const opened = (folder: TempDir): Promise<PassageRepository> =>
  storeIn(folder).create("big", specOf(dimension));

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

interface SegmentFiles {
  vectors: string;
  graph: string;
}

/** The files of each segment that the collection names. */
function filesOf(folder: Pick<TempDir, "path">): SegmentFiles[] {
  using database = new Database(join(folder.path, "big.sqlite"), { readonly: true });
  const rows = database
    .query<{ vectors: string; graph: string | null }, []>("select vectors, graph from segments")
    .all();
  return rows.map(({ vectors, graph }) => ({
    vectors: JSON.parse(vectors).file,
    graph: JSON.parse(graph ?? '{ "file": "" }').file,
  }));
}

/** Waits until every segment has a graph on disk. */
async function indexed(folder: Pick<TempDir, "path">, count = 3): Promise<SegmentFiles[]> {
  let files: SegmentFiles[] = [];
  await waitFor("the index to be written", () => {
    files = filesOf(folder);
    const there = new Set(readdirSync(folder.path));
    const isThere = ({ vectors, graph }: SegmentFiles) => there.has(vectors) && there.has(graph);
    return files.length === count && files.every(isThere);
  });
  return files;
}

describe("an index's file", () => {
  test("is known to be whole, or not", async () => {
    await using folder = await tempDir();
    const written = writeIndexFile(folder.path, "big", "vectors", (path) =>
      writeFileSync(path, new Uint8Array(5000)),
    );
    expect(await readdir(folder.path)).toEqual([written.file]);
    expect([written.bytes, isWhole(folder.path, written)]).toEqual([5000, true]);
    await writeFile(join(folder.path, written.file), new Uint8Array(5000).fill(1, 2000, 2001));
    expect(isWhole(folder.path, written)).toBe(false);
    await rm(join(folder.path, written.file));
    expect(isWhole(folder.path, written)).toBe(false);
  });

  // Windows has other rights.
  test.skipIf(process.platform === "win32")("is its owner's alone", () => {
    const files = readdirSync(whole.path).map((file) => join(whole.path, file));
    const open = files.filter((file) => (statSync(file).mode & 0o077) !== 0);
    expect(files.filter((file) => file.endsWith(".usearch"))).toHaveLength(3);
    expect(open).toEqual([]);
  });

  test("is not left behind where it could not be written", async () => {
    await using folder = await tempDir();
    const failing = (): unknown =>
      writeIndexFile(folder.path, "big", "usearch", (path) => {
        writeFileSync(path, "half");
        throw new Error("no space");
      });
    expect(failing).toThrow("no space");
    expect(await readdir(folder.path)).toEqual([]);
  });
});

describe("a large collection", () => {
  test("that is dropped while its index is saved stays dropped", async () => {
    await using folder = await tempDir();
    const store = storeIn(folder);
    {
      await using repository = await opened(folder);
      await repository.upsert(many);
      await waitFor("the file", () =>
        readdirSync(folder.path).some((name) => name.includes(".vectors")),
      );
      await store.drop("big");
    }
    expect(await store.list()).toEqual([]);
    expect(await readdir(folder.path)).not.toContainEqual(
      expect.stringMatching(/\.(usearch|vectors)/),
    );
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

  test("answers from the index that it finds when it is opened", async () => {
    await using folder = await filled();
    const before = await indexed(folder);
    await using repository = await opened(folder);
    await expectExact(repository);
    expect(await indexed(folder)).toEqual(before);
  });

  const kinds = ["vectors", "graph"] as const;
  test.each<[string, (file: string) => Promise<void>]>([
    ["is missing", (file) => rm(file)],
    ["was cut short", async (file) => writeFile(file, (await readFile(file)).subarray(0, 5000))],
    ["is another file altogether", (file) => writeFile(file, "not an index")],
  ])("rebuilds its index from the rows where a file %s", async (_, damage) => {
    for (const kind of kinds) {
      await using folder = await filled();
      const [before] = await indexed(folder);
      await damage(join(folder.path, before?.[kind] ?? ""));
      await using repository = await opened(folder);
      await expectExact(repository);
      await waitFor("another file in its place", () =>
        filesOf(folder).every((files) => files.graph !== "" && files[kind] !== before?.[kind]),
      );
      await expectExact(repository);
    }
  });

  test("does not use a graph with a byte that is another", async () => {
    await using folder = await filled();
    const [before] = await indexed(folder);
    const path = join(folder.path, before?.graph ?? "");
    const bytes = await readFile(path);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 0xff;
    await writeFile(path, bytes);
    await using repository = await opened(folder);
    await expectExact(repository);
    await waitFor("another graph", () =>
      filesOf(folder).every(({ graph }) => graph !== "" && graph !== before?.graph),
    );
    await expectExact(repository);
  });

  test("does not use vectors that are others, though as many", async () => {
    await using folder = await filled();
    const [before] = await indexed(folder);
    const path = join(folder.path, before?.vectors ?? "");
    await writeFile(path, new Uint8Array((await stat(path)).size));
    await using repository = await opened(folder);
    await waitFor("other vectors", () =>
      filesOf(folder).every(({ vectors }) => vectors !== before?.vectors),
    );
    await expectExact(repository);
  });

  test("has segments of an older form rebuilt, whose numbers were rounded in another way", async () => {
    await using folder = await filled();
    const before = filesOf(folder).map(({ vectors }) => vectors);
    {
      using database = new Database(join(folder.path, "big.sqlite"));
      database.run("update segments set vectors = json_remove(vectors, '$.scale')");
    }
    await using repository = await opened(folder);
    await expectExact(repository);
    await waitFor("all segments to be others", () =>
      filesOf(folder).every(({ vectors }) => !before.includes(vectors)),
    );
    await indexed(folder);
    await expectExact(repository);
  });

  test("removes no file but those of an index, whatever its rows name", async () => {
    await using folder = await filled();
    const [before] = await indexed(folder);
    const precious = join(folder.path, "keys.txt");
    await writeFile(precious, "precious");
    {
      using database = new Database(join(folder.path, "big.sqlite"));
      database.run(
        "update segments set vectors = json_set(vectors, '$.file', 'keys.txt') where vectors like ?",
        [`%${before?.vectors}%`],
      );
    }
    await using repository = await opened(folder);
    await waitFor("other vectors", () =>
      filesOf(folder).every(({ vectors }) => vectors !== "keys.txt"),
    );
    await expectExact(repository);
    expect(await readFile(precious, "utf8")).toBe("precious");
  });

  test("gives back the space of what was removed, and still finds the rest by words and vectors", async () => {
    await using folder = await filled();
    await indexed(folder);
    const rows = (): number => {
      using database = new Database(join(folder.path, "big.sqlite"), { readonly: true });
      const sql = "select sum(count) as rows from segments";
      return database.query<{ rows: number }, []>(sql).get()?.rows ?? 0;
    };
    expect(rows()).toBe(1500);
    await using repository = await opened(folder);
    for (const document of ["1.md", "2.md", "3.md", "4.md"]) await repository.delete(document);
    // A segment is rebuilt when it has lost a quarter of its passages.
    await waitFor("smaller segments", () => rows() <= 900 / 0.75);
    const left = many.filter(({ document }) => !/[1-4]\.md/.test(document));
    await expectExact(repository, left);
    const [query = new Float32Array(dimension)] = queries;
    expect(await repository.matchWords("1231", query, 5)).toEqual([]);
    expect(await repository.matchWords("1235", query, 5)).toMatchObject([
      { source: "Passage number 1235" },
    ]);
    const vectors = filesOf(folder).map(({ vectors: file }) => file);
    const bytes = vectors.map((file) => statSync(join(folder.path, file)).size);
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBe(rows() * dimension);
    await waitFor("no other files", () =>
      readdirSync(folder.path).every(
        (name) => !name.includes(".vectors") || vectors.includes(name),
      ),
    );
  });

  test("ranks by words alike in memory and in segments, as by the definition of BM25", async () => {
    await using small = await tempDir();
    await using large = await tempDir();
    const random = randomNumbers(11);
    const vocabulary = Array.from({ length: 400 }, (_, at) => `w${at}x`);
    const word = (): string => vocabulary[Math.floor(400 * random() ** 3)] ?? "";
    const worded = many.map((each) => ({
      ...each,
      source: Array.from({ length: 5 + Math.floor(30 * random()) }, word).join(" "),
    }));
    const gone = worded.filter(({ document }) => document === "7.md");
    const left = worded.filter(({ document }) => document !== "7.md");
    await using memory = await new SqliteCollectionStore(small.path, silentLog).create(
      "big",
      specOf(dimension),
    );
    await using segments = await opened(large);
    const [query = new Float32Array(dimension)] = queries;
    for (const repository of [memory, segments]) await repository.upsert(worded);
    await indexed(large);
    for (const repository of [memory, segments]) {
      expect(await repository.delete("7.md")).toBe(gone.length);
    }
    for (let asked = 0; asked < 20; asked++) {
      const question = Array.from({ length: 6 }, word).join(" ");
      const wanted = byBm25(question, left).slice(0, 10);
      for (const repository of [memory, segments]) {
        const found = await repository.matchWords(question, query, 10);
        expect(found.map(({ id }) => id)).toEqual(wanted);
      }
    }
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

  test("answers without an index where none can be kept, says so, and has one once it can be", async () => {
    await using folder = await tempDir();
    const { log, lines } = recordingLog();
    const store = new SqliteCollectionStore(join(folder.path, "gone"), log, sizes);
    await using repository = await store.create("big", specOf(dimension));
    await repository.upsert(many);
    const [place, aside] = [join(folder.path, "gone"), join(folder.path, "aside")];
    await rename(place, aside);
    await waitFor("the word of it", () => lines.length > 0);
    await rename(aside, place);
    expect(lines).toMatchObject([{ level: "warn", fields: { collection: "big" } }]);
    await expectExact(repository);
    using _ = afterThePause();
    await expectExact(repository);
    await indexed({ path: place });
  });

  test("has a graph built again that was written without its end, as on a full disk", async () => {
    await using folder = await filled();
    const [first] = filesOf(folder);
    const whole = await readFile(join(folder.path, first?.graph ?? ""));
    const cut = writeIndexFile(folder.path, "big", "usearch", (path) =>
      writeFileSync(path, whole.subarray(0, 4096)),
    );
    {
      using database = new Database(join(folder.path, "big.sqlite"));
      const sql = "update segments set graph = ? where json_extract(graph, '$.file') = ?";
      database.run(sql, [JSON.stringify(cut), first?.graph ?? ""]);
    }
    const { log, lines } = recordingLog();
    const store = new SqliteCollectionStore(folder.path, log, sizes);
    await using repository = await store.create("big", specOf(dimension));
    await waitFor("the word of it", () => lines.length > 0);
    expect(await readdir(folder.path)).not.toContain(cut.file);
    using _ = afterThePause();
    await expectExact(repository);
    expect((await indexed(folder)).map((each) => each.graph)).not.toContain(cut.file);
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
    expect(await readdir(folder.path)).not.toContainEqual(
      expect.stringMatching(/\.(usearch|vectors)/),
    );
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

/** Ids in the order of their scores, those of equal ones in the order of the passages. */
function byBm25(question: string, among: typeof many): string[] {
  const texts = among.map(({ id, source }) => ({ id, words: source.split(" ") }));
  const mean = texts.reduce((sum, { words }) => sum + words.length, 0) / texts.length;
  const terms = [...new Set(question.split(" "))].flatMap((term) => {
    const count = texts.filter(({ words }) => words.includes(term)).length;
    // Common words are not searched for.
    if (count > 1000) return [];
    const weight = Math.log((texts.length - count + 0.5) / (count + 0.5));
    return [{ term, weight: Math.max(1e-6, weight) }];
  });
  const scored = texts.map(({ id, words }) => {
    const score = terms.reduce((sum, { term, weight }) => {
      const often = words.filter((word) => word === term).length;
      const length = 1.2 * (0.25 + (0.75 * words.length) / mean);
      return sum + (weight * 2.2 * often) / (often + length);
    }, 0);
    return { id, score };
  });
  return scored
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .map(({ id }) => id);
}
