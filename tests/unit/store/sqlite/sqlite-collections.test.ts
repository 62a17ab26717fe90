import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { copyFile, readdir, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CollectionRows } from "../../../../src/store/sqlite/collection-rows.ts";
import { CollectionSearch } from "../../../../src/store/sqlite/collection-search.ts";
import { hasCurrentWords } from "../../../../src/store/sqlite/collection-tables.ts";
import { SqliteCollectionStore } from "../../../../src/store/sqlite/sqlite-collections.ts";
import { collect } from "../../../support/collect.ts";
import { passage } from "../../../support/passages.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { silentLog } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { specOf } from "../../../support/test-models.ts";
import { waitFor } from "../../../support/wait-for.ts";

function ofAnotherModel(dimension: number) {
  const spec = specOf(dimension);
  return { ...spec, embedding: { ...spec.embedding, fingerprint: "other" } };
}

const bytesOf = (...values: number[]): Uint8Array =>
  new Uint8Array(Float32Array.from(values).buffer);

/** A file as the first version with an index of words wrote it. */
function writeFormOne(path: string): void {
  using database = new Database(path);
  database.run(`
    create table meta (key text primary key, value text not null) strict;
    create table passages (
      key integer primary key autoincrement, id text not null unique, document text not null,
      heading text not null, position integer not null, hash text not null,
      document_hash text not null, parts integer not null, vector blob not null,
      source text not null
    ) strict;
    create index passages_by_document on passages (document, document_hash, parts);
    create table removed (seq integer primary key autoincrement, key integer not null) strict;
    create virtual table words using fts5 (
      source, content = 'passages', content_rowid = 'key',
      tokenize = 'porter unicode61 remove_diacritics 2'
    );
    create virtual table word_counts using fts5vocab (words, row);
    create trigger passage_added after insert on passages begin
      insert into words (rowid, source) values (new.key, new.source);
    end;
    create trigger passage_removed after delete on passages begin
      insert into words (words, rowid, source) values ('delete', old.key, old.source);
      insert into removed (key) values (old.key);
    end;
    pragma user_version = 1;
    insert into meta values ('dimension', '2');
  `);
  const insert = database.query("insert into passages values (?, ?, ?, '', 0, '', '', 1, ?, ?)");
  insert.run(5, "id-1", "a.md", bytesOf(1, 0), "图书馆上午九点开门。");
  insert.run(7, "id-2", "b.md", bytesOf(0, 1), "about roses");
}

test("a folder of collections that cannot be read is said to be unavailable", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "collections");
  await writeFile(path, "");
  const error = await rejectionOf(new SqliteCollectionStore(path, silentLog).list());
  expect(error).toMatchObject({
    kind: "unavailable",
    message: expect.stringContaining("The collections cannot be listed"),
  });
});

describe("a collection's file", () => {
  test("that is gone before a thread first uses it is not created again", async () => {
    await using folder = await tempDir();
    const place = join(folder.path, "moved");
    using rows = new CollectionRows({ name: "notes", path: join(place, "notes.sqlite") });
    expect(() => rows.count()).toThrow("its file is gone from the disk");
    expect(await readdir(folder.path)).toEqual([]);
  });

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

  test("of the form before has its words made anew, and keeps its keys", async () => {
    await using folder = await tempDir();
    writeFormOne(join(folder.path, "old.sqlite"));
    const { log, lines } = recordingLog();
    const store = new SqliteCollectionStore(folder.path, log);
    for (const _ of ["first", "second"]) await (await store.open("old"))?.[Symbol.asyncDispose]();
    expect(lines).toHaveLength(1);
    expect(JSON.stringify(lines)).toContain("words rebuilt");
    {
      await using repository = await store.open("old");
      expect(repository?.matchesWords).toBe(true);
      const found = await repository?.matchWords("图书馆", Float32Array.of(1, 0), 5);
      expect(found).toMatchObject([{ id: "id-1", score: 1 }]);
      expect(await repository?.matchWords("rose", Float32Array.of(1, 0), 5)).toHaveLength(1);
      expect(await repository?.delete("a.md")).toBe(1);
      expect(await repository?.matchWords("图书馆", Float32Array.of(1, 0), 5)).toEqual([]);
    }
    using database = new Database(join(folder.path, "old.sqlite"));
    expect(database.query("select key from passages").all()).toEqual([{ key: 7 }]);
    // A program of before, which has it open still, does not mix its words in.
    expect(() =>
      database.run(
        "insert into passages (id, document, heading, position, hash, document_hash, parts, vector, source) values ('x', '', '', 0, '', '', 1, x'00', 'text')",
      ),
    ).toThrow("without its words");
  });

  test("of the form with SQLite's own index of words is brought over with all that it holds", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "old.sqlite");
    writeFormOne(path);
    {
      using database = new Database(path);
      database.run(`
        alter table passages add column terms text;
        drop trigger passage_added; drop trigger passage_removed;
        drop table word_counts; drop table words;
        update passages set terms = 'about rose' where key = 7;
        update passages set terms = '图书 书馆' where key = 5;
        create virtual table words using fts5 (
          terms, content = 'passages', content_rowid = 'key', tokenize = 'ascii'
        );
        create virtual table word_counts using fts5vocab (words, row);
        create trigger passage_removed after delete on passages begin
          insert into words (words, rowid, terms) values ('delete', old.key, old.terms);
          insert into removed (key) values (old.key);
        end;
        insert into words (words) values ('rebuild');
        insert into meta values ('words', '2'), ('index', '{"file":"old.12345678.usearch"}');
        pragma user_version = 2;
      `);
    }
    const store = new SqliteCollectionStore(folder.path, silentLog);
    await using repository = await store.open("old");
    expect([await repository?.count(), repository?.matchesWords]).toEqual([2, true]);
    const query = Float32Array.of(1, 0);
    expect(await repository?.matchWords("roses", query, 5)).toMatchObject([{ id: "id-2" }]);
    expect(await repository?.delete("b.md")).toBe(1);
    expect(await repository?.matchWords("roses", query, 5)).toEqual([]);
    expect(await repository?.count()).toBe(1);
    using database = new Database(path, { readonly: true });
    const tables = "select name from sqlite_master where name like 'word%'";
    expect(database.query(tables).all()).toEqual([]);
  });

  test("of the form before that cannot be changed is searched without words", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "old.sqlite");
    writeFormOne(path);
    using database = new Database(path, { readonly: true });
    expect(hasCurrentWords(database)).toBe(false);
    const search = new CollectionSearch(database, {
      dimension: 2,
      folder: folder.path,
      finds: undefined,
    });
    const bounds = { limit: 1, scoreThreshold: 0 };
    expect(search.nearest(Float32Array.of(1, 0), bounds)).toEqual([{ key: 5, score: 1 }]);
  });

  test("keeps finding words after it was dropped and made anew", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    await (await store.create("anew", specOf(2)))[Symbol.asyncDispose]();
    await store.drop("anew");
    await using repository = await store.create("anew", specOf(2));
    expect(repository.matchesWords).toBe(true);
  });

  test("that was dropped and is filled on by one that has it open is there again, and of its model", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    {
      await using open = await store.create("notes", specOf(2));
      await open.upsert([passage(1, [1, 0])]);
      await store.drop("notes");
      await open.upsert([passage(2, [0, 1])]);
      expect(await open.count()).toBe(1);
    }
    {
      // Of this one nothing was stored or asked before.
      await using open = await store.create("others", specOf(2));
      await store.drop("others");
      await open.upsert([passage(1, [1, 0])]);
      expect(await open.count()).toBe(1);
      await store.drop("others");
    }
    expect(await store.list()).toEqual(["notes"]);
    await using again = await store.open("notes");
    expect(await again?.describe()).toMatchObject(specOf(2));
    expect(await again?.count()).toBe(1);
  });

  test("that was dropped and made for another model meanwhile gets no vectors of the former one", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    // Of this one nothing was stored or asked before.
    await using opened = await store.create("notes", specOf(2));
    await store.drop("notes");
    await using other = await store.create("notes", ofAnotherModel(3));
    const refused = await rejectionOf(opened.upsert([passage(1, [1, 0])]));
    expect(refused).toMatchObject({ kind: "collection_mismatch" });
    expect(await rejectionOf(opened.matchWords("text", Float32Array.of(1, 0), 1))).toMatchObject({
      kind: "collection_mismatch",
    });
    expect(await other.count()).toBe(0);
  });

  test("gets no vectors of the former model either from what waited while it was made anew", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    await using opened = await store.create("notes", specOf(2));
    await opened.upsert([passage(1, [1, 0])]);
    await store.drop("notes");
    using other = new Database(join(folder.path, "notes.sqlite"));
    other.run("begin immediate");
    const refused = rejectionOf(opened.upsert([passage(2, [0, 1])]));
    // It has looked at the file by then, and waits for its turn to write.
    await Bun.sleep(200);
    const { embedding, dimension } = ofAnotherModel(3);
    const insert = other.query("insert into meta (key, value) values (?, ?)");
    insert.run("embedding", JSON.stringify(embedding));
    insert.run("dimension", String(dimension));
    other.run("commit");
    expect(await refused).toMatchObject({ kind: "collection_mismatch" });
    expect(await opened.documents()).toEqual([]);
  });

  test("that was removed for good takes nothing more from one that has it open", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    await using opened = await store.create("notes", specOf(2));
    await opened.upsert([passage(1, [1, 0])]);
    await store.drop("notes", { forGood: true });
    expect(await rejectionOf(opened.upsert([passage(2, [0, 1])]))).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("its file is gone from the disk"),
    });
    expect(await store.list()).toEqual([]);
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
    await using _ = await store.create("again", ofAnotherModel(2));
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

  test("is written and dropped once another process has let go of it, and blocks nobody until then", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    await using repository = await store.create("busy", specOf(2));
    using other = new Database(join(folder.path, "busy.sqlite"));
    const besideAnother = async <Result>(work: () => Promise<Result>): Promise<Result> => {
      other.run("begin immediate");
      const working = work();
      other.run("rollback");
      return await working;
    };
    await besideAnother(() => repository.upsert([passage(1, [1, 0])]));
    expect(await repository.count()).toBe(1);
    expect(await besideAnother(() => repository.delete("a.md"))).toBe(1);
    await besideAnother(() => store.drop("busy"));
    expect(await store.list()).toEqual([]);
  });

  test("that is gone from the disk is missed, and nothing is stored that would be lost", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    await using repository = await store.create("moved", specOf(2));
    await repository.upsert([passage(1, [1, 0])]);
    const [path, aside] = ["moved.sqlite", "aside"].map((name) => join(folder.path, name));
    if (path === undefined || aside === undefined) throw new Error("there are two");
    await rename(path, aside);
    for (const attempt of [
      () => repository.upsert([passage(2, [0, 1])]),
      () => repository.delete("a.md"),
      () => repository.search(Float32Array.of(1, 0), { limit: 5, scoreThreshold: -1 }),
      () => repository.count(),
    ]) {
      expect(await rejectionOf(attempt())).toMatchObject({
        kind: "unavailable",
        message: expect.stringContaining("is gone from the disk, or another, since it was opened"),
      });
    }
    await copyFile(aside, path);
    expect(await rejectionOf(repository.count())).toMatchObject({ kind: "unavailable" });
    await rename(aside, path);
    expect(await repository.count()).toBe(1);
    await repository.upsert([passage(2, [0, 1])]);
    expect(await repository.count()).toBe(2);
  });

  test.each([
    ["beside an empty log", []],
    ["beside later changes", [passage(500, [0, 1])]],
  ])("that a backup is copied over is missed %s, and the backup is as it was", async (_, later) => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    const [path, backup] = ["over.sqlite", "backup"].map((name) => join(folder.path, name));
    if (path === undefined || backup === undefined) throw new Error("there are two");
    const emptied = () =>
      waitFor("an empty log", async () => (await stat(`${path}-wal`)).size === 0);
    {
      await using repository = await store.create("over", specOf(2));
      await repository.upsert([passage(1, [1, 0])]);
      await emptied();
      await copyFile(path, backup);
      await repository.upsert(Array.from({ length: 200 }, (_, at) => passage(at + 2, [0, 1])));
      await emptied();
      if (later.length > 0) await repository.upsert(later);
      await copyFile(backup, path);
      expect(await rejectionOf(repository.upsert(later))).toMatchObject({ kind: "unavailable" });
    }
    await using repository = await store.open("over");
    expect(await repository?.count()).toBe(1);
    using database = new Database(path);
    expect(database.query("pragma integrity_check").values()).toEqual([["ok"]]);
  });

  test("that a newer one is copied over is missed, and the newer one is as it was", async () => {
    await using folder = await tempDir();
    await using elsewhere = await tempDir();
    const [path, newer] = [folder, elsewhere].map((each) => join(each.path, "over.sqlite"));
    if (path === undefined || newer === undefined) throw new Error("there are two");
    const emptied = () =>
      waitFor("an empty log", async () => (await stat(`${path}-wal`)).size === 0);
    const store = new SqliteCollectionStore(folder.path, silentLog);
    await using repository = await store.create("over", specOf(2));
    await repository.upsert([passage(1, [1, 0])]);
    await emptied();
    await copyFile(path, newer);
    {
      await using other = await new SqliteCollectionStore(elsewhere.path, silentLog).open("over");
      await other?.upsert(Array.from({ length: 200 }, (_, at) => passage(at + 2, [0, 1])));
    }
    await copyFile(newer, path);
    for (const attempt of [
      () => repository.upsert([passage(500, [0, 1])]),
      () => repository.search(Float32Array.of(1, 0), { limit: 5, scoreThreshold: -1 }),
    ]) {
      expect(await rejectionOf(attempt())).toMatchObject({
        kind: "unavailable",
        message: expect.stringContaining("or another, since it was opened"),
      });
    }
    await repository[Symbol.asyncDispose]();
    await using restored = await store.open("over");
    expect(await restored?.count()).toBe(201);
    using database = new Database(path);
    expect(database.query("pragma integrity_check").values()).toEqual([["ok"]]);
  });

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

describe("the list of collections", () => {
  test("lets others have their turn, and opens no file again that has not changed", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    const names = Array.from({ length: 20 }, (_, at) => `many-${at}`).sort();
    for (const name of names) await (await store.create(name, specOf(2)))[Symbol.asyncDispose]();
    let [turns, isOver] = [0, false];
    const taken = (async () => {
      for (; !isOver; turns++) await new Promise((resolve) => setImmediate(resolve));
    })();
    expect(await store.list()).toEqual(names);
    isOver = true;
    await taken;
    expect(turns).toBeGreaterThan(10);
    // Opening a file makes others beside it, for a moment.
    const changed = async (): Promise<bigint> =>
      (await stat(folder.path, { bigint: true })).mtimeNs;
    const before = await changed();
    let isListed = false;
    const listing = store.list().then((listed) => {
      isListed = true;
      return listed;
    });
    for (let turn = 0; turn < 1000; turn++) await Promise.resolve();
    // The disk was not waited for here: it may hang.
    expect(isListed).toBe(false);
    expect(await listing).toEqual(names);
    expect(await changed()).toBe(before);
  });

  test("follows what other processes make and drop", async () => {
    await using folder = await tempDir();
    const [store, other] = [1, 2].map(() => new SqliteCollectionStore(folder.path, silentLog));
    await using kept = await other?.create("kept", specOf(2));
    expect(await store?.list()).toEqual(["kept"]);
    await using _ = await other?.create("later", specOf(2));
    expect(await store?.list()).toEqual(["kept", "later"]);
    await other?.drop("kept");
    expect(await store?.list()).toEqual(["later"]);
    expect(await kept?.count()).toBe(0);
    await using __ = await other?.create("kept", specOf(2));
    expect(await store?.list()).toEqual(["kept", "later"]);
  });
});
