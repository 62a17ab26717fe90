import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { CollectionRows } from "../../../../src/store/sqlite/collection-rows.ts";
import { passage } from "../../../support/passages.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { specOf } from "../../../support/test-models.ts";

test("a choice of documents finds passages whose segment was made since they were read", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "notes.sqlite");
  const segmentSizes = { least: 250, most: 500 };
  using rows = new CollectionRows({ name: "notes", path, folder: folder.path, segmentSizes });
  rows.open(specOf(2));
  const passages = Array.from({ length: 1200 }, (_, at) => {
    const { vector, ...rest } = passage(at, [1, 0], {
      document: `${at % 5}.md`,
      source: `The llama number ${at}`,
    });
    return rest;
  });
  rows.upsert(
    passages,
    Float32Array.from({ length: 2400 }, (_, at) => 1 - (at % 2)),
  );
  const documents = { isOnly: true, names: JSON.stringify(["1.md", "2.md"]) };
  const found = () =>
    rows.matchWords("llama 7", Float32Array.of(1, 0), 5, documents).map(({ source }) => source);
  expect(found()).toEqual(["The llama number 7"]);
  while (!rows.isIndexed()) {
    rows.index({ vectors: 1000, threads: 1, isChanging: false });
    expect(found()).toEqual(["The llama number 7"]);
  }
});

test.each(["insert", "update"])("an index whose %s fails leaves no file behind", async (step) => {
  await using folder = await tempDir();
  const path = join(folder.path, "notes.sqlite");
  const segmentSizes = { least: 100, most: 100 };
  using rows = new CollectionRows({ name: "notes", path, folder: folder.path, segmentSizes });
  rows.open(specOf(2));
  const passages = Array.from({ length: 200 }, (_, at) => passage(at, [1, 0]));
  rows.upsert(
    passages,
    Float32Array.from({ length: 400 }, (_, at) => 1 - (at % 2)),
  );
  {
    using database = new Database(path);
    database.run(
      `create trigger full before ${step} on segments begin select raise (abort, 'full'); end`,
    );
  }
  const index = (): void => {
    while (!rows.isIndexed()) rows.index({ vectors: 1000, threads: 1, isChanging: false });
  };
  expect(index).toThrow("full");
  const left = (await readdir(folder.path)).filter((file) => /vectors|usearch/.test(file));
  expect(left.filter((file) => file.endsWith(step === "insert" ? "vectors" : "usearch"))).toEqual(
    [],
  );
});

test("a segment that will soon be replaced gets no graph while passages are stored", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "notes.sqlite");
  const segmentSizes = { least: 100, most: 1000 };
  using rows = new CollectionRows({ name: "notes", path, folder: folder.path, segmentSizes });
  rows.open(specOf(2));
  const stepsUntilDone = (isChanging: boolean): string[] => {
    const steps = [rows.index({ vectors: 1000, threads: 1, isChanging })];
    while (steps.at(-1) !== "done")
      steps.push(rows.index({ vectors: 1000, threads: 1, isChanging }));
    return steps;
  };
  const store = (from: number, to: number): void => {
    const passages = Array.from({ length: to - from }, (_, at) => passage(from + at, [1, 0]));
    const vectors = Float32Array.from({ length: 2 * passages.length }, (_, at) => 1 - (at % 2));
    rows.upsert(passages, vectors);
  };
  store(0, 500);
  expect(stepsUntilDone(true)).not.toContain("graph");
  // A full one is never replaced, and a question would compare all of its vectors.
  store(500, 1000);
  expect(stepsUntilDone(true)).toContain("graph");
  store(1000, 1500);
  expect(stepsUntilDone(true)).not.toContain("graph");
  expect(stepsUntilDone(false)).toContain("graph");
});
