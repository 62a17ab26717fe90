import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SqliteCollectionStore } from "../../../../src/store/sqlite/sqlite-collection-store.ts";
import { collect } from "../../../support/collect.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { silentLog } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { specOf } from "../../../support/test-models.ts";

const bytesOf = (...values: number[]): Uint8Array =>
  new Uint8Array(Float32Array.from(values).buffer);

describe("a collection's file", () => {
  test("of the first form is brought over with all that it holds", async () => {
    await using folder = await tempDir();
    const database = new Database(join(folder.path, "old.sqlite"));
    database.run("create table meta (key text primary key, value text not null) strict");
    database.run(
      "create table passages (id text primary key, document text not null, source text not null, vector blob not null) strict",
    );
    database.run("create index passages_by_document on passages (document)");
    database.run("insert into meta values ('dimension', '2')");
    const insert = database.query("insert into passages values (?, ?, ?, ?)");
    insert.run("id-1", "a.md", "about llamas", bytesOf(1, 0));
    insert.run("id-2", "b.md", "about roses", bytesOf(0, 1));
    database.close();
    await using repository = await new SqliteCollectionStore(folder.path, silentLog).open("old");
    const passages = await collect(repository?.passages() ?? []);
    expect(passages.map(({ id, document, source }) => [id, document, source])).toEqual([
      ["id-1", "a.md", "about llamas"],
      ["id-2", "b.md", "about roses"],
    ]);
    expect(await repository?.describe()).toEqual({
      name: "old",
      dimension: 2,
      distance: "cosine",
      url: "embedded",
    });
    const found = await repository?.matchWords("roses", Float32Array.of(0, 1), 5);
    expect(found).toMatchObject([{ id: "id-2", score: 1 }]);
  });

  test("that is not one is refused with its path and what to do", async () => {
    await using folder = await tempDir();
    await writeFile(join(folder.path, "bad.sqlite"), "this is no database at all".repeat(100));
    const store = new SqliteCollectionStore(folder.path, silentLog);
    const refusal = await rejectionOf(store.open("bad"));
    expect(refusal).toMatchObject({
      kind: "unavailable",
      message: expect.stringMatching(
        /^The collection 'bad' cannot be opened: .*not a database; restore it.*bad\.sqlite/,
      ),
    });
  });

  test("of a newer Paddock is refused rather than misread", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    await (await store.create("new", specOf(2)))[Symbol.asyncDispose]();
    const database = new Database(join(folder.path, "new.sqlite"));
    database.run("pragma user_version = 99");
    database.close();
    expect(await rejectionOf(store.open("new"))).toMatchObject({
      message: expect.stringContaining("written by a newer Paddock"),
    });
  });

  test("is not taken for a collection before it says what it holds", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    await writeFile(join(folder.path, "cut.sqlite"), "");
    expect(await store.list()).toEqual([]);
    expect(await store.open("cut")).toBeUndefined();
    await using repository = await store.create("cut", specOf(2));
    expect(await repository.count()).toBe(0);
    expect(await store.list()).toEqual(["cut"]);
  });

  test("is not served to a model that it was not made for, where it was made anew meanwhile", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    await using opened = await store.create("again", specOf(2));
    await store.drop("again");
    expect(await opened.count()).toBe(0);
    const spec = specOf(2);
    const other = { ...spec, embedding: { ...spec.embedding, fingerprint: "other" } };
    await using _ = await store.create("again", other);
    expect(await rejectionOf(opened.count())).toMatchObject({ kind: "collection_mismatch" });
  });

  test.each(["../up", "a/b", "", ".", "a.b", "x".repeat(65)])(
    "has no name that leads elsewhere: '%s'",
    async (name) => {
      await using folder = await tempDir();
      const store = new SqliteCollectionStore(folder.path, silentLog);
      for (const attempt of [store.open(name), store.create(name, specOf(2)), store.drop(name)]) {
        expect(await rejectionOf(attempt)).toMatchObject({ kind: "invalid_request" });
      }
    },
  );

  test("survives that two make it at once", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    const made = await Promise.all([1, 2, 3].map(() => store.create("both", specOf(2))));
    for (const repository of made) {
      expect(await repository.count()).toBe(0);
      await repository[Symbol.asyncDispose]();
    }
  });
});
