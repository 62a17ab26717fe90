import { describe, expect, test } from "bun:test";
import type {
  CollectionSpec,
  CollectionStore,
  PassageRepository,
} from "../../../../src/core/ports/passage-repository.ts";
import { openCollection } from "../../../../src/core/retrieval/collection.ts";
import { SqliteCollectionStore } from "../../../../src/store/sqlite/sqlite-collections.ts";
import { passage } from "../../../support/passages.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { silentLog } from "../../../support/silence.ts";
import { type TempDir, tempDir } from "../../../support/temp-dir.ts";
import { unusedRepository } from "../../../support/unused-repository.ts";

const spec = (
  fingerprint: string,
  fields: Partial<CollectionSpec["embedding"]> = {},
  dimension = 2,
): CollectionSpec => ({
  dimension,
  embedding: { model: "mine", fingerprint, queryPrefix: "", documentPrefix: "", ...fields },
});

async function filled(folder: TempDir, first: CollectionSpec): Promise<CollectionStore> {
  const store = new SqliteCollectionStore(folder.path, silentLog);
  await using repository = await store.create("notes", first);
  await repository.upsert([passage(1, [1, 0])]);
  return store;
}

async function open(store: CollectionStore, wanted: CollectionSpec) {
  const { log, lines } = recordingLog();
  const opened = await openCollection(store, "notes", wanted, log);
  await opened.repository[Symbol.asyncDispose]();
  return { prefixes: opened.prefixes, lines };
}

describe("a collection", () => {
  test("is made where there is none, with the model's prefixes", async () => {
    await using folder = await tempDir();
    const prefixes = { queryPrefix: "query: ", documentPrefix: "passage: " };
    const store = new SqliteCollectionStore(folder.path, silentLog);
    expect((await open(store, spec("abc", prefixes))).prefixes).toEqual(prefixes);
    expect(await store.list()).toEqual(["notes"]);
  });

  test("is opened for the model that filled it, whatever that is called now", async () => {
    await using folder = await tempDir();
    const store = await filled(folder, spec("abc"));
    expect((await open(store, spec("abc", { model: "renamed" }))).lines).toEqual([]);
  });

  test("keeps the prefixes that it was filled with, and says so", async () => {
    await using folder = await tempDir();
    const store = await filled(folder, spec("abc"));
    const { prefixes, lines } = await open(store, spec("abc", { queryPrefix: "query: " }));
    expect(prefixes).toEqual({ queryPrefix: "", documentPrefix: "" });
    expect(lines).toMatchObject([{ level: "warn", fields: { query_prefix: "" } }]);
  });

  test("of other weights is refused, with what to do", async () => {
    await using folder = await tempDir();
    const store = await filled(folder, spec("abc", { model: "theirs" }));
    const refusal = await rejectionOf(open(store, spec("def")));
    expect(refusal).toMatchObject({
      kind: "collection_mismatch",
      message: expect.stringMatching(
        /was filled by the model 'theirs' \(weights abc\); the configured model is 'mine' \(weights def\).* Configure the model that filled it; or name another collection .* 'paddock collections copy notes --model mine --as notes-2'/,
      ),
    });
  });

  test("of another dimension is refused, with what to do", async () => {
    await using folder = await tempDir();
    const store = await filled(folder, spec("abc"));
    const refusal = await rejectionOf(open(store, spec("abc", {}, 3)));
    expect(refusal).toMatchObject({
      kind: "collection_mismatch",
      message: expect.stringMatching(/vectors of 2 dimensions; .* have 3\./),
    });
  });

  test("that is empty is made anew for another model", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    await (await store.create("notes", spec("abc")))[Symbol.asyncDispose]();
    const { lines } = await open(store, spec("def", {}, 3));
    expect(lines).toMatchObject([{ level: "info" }]);
    await using repository = await store.open("notes");
    expect(await repository?.describe()).toMatchObject({
      dimension: 3,
      embedding: { fingerprint: "def" },
    });
  });

  test("that others made is taken without prefixes, refused for its distance, never dropped", async () => {
    const foreign = (distance: string): CollectionStore => ({
      list: async () => ["notes"],
      isMissing: async () => false,
      open: async (): Promise<PassageRepository> => ({
        ...unusedRepository,
        describe: async () => ({ name: "notes", dimension: 2, distance, url: "http://store" }),
        count: async () => 0,
      }),
      create: () => Promise.reject(new Error("made")),
      drop: () => Promise.reject(new Error("dropped")),
    });
    const wanted = spec("abc", { queryPrefix: "query: ", documentPrefix: "passage: " });
    const { prefixes, lines } = await open(foreign("dot"), wanted);
    expect(prefixes).toEqual({ queryPrefix: "", documentPrefix: "" });
    expect(lines).toMatchObject([{ level: "warn", fields: { model: "mine" } }]);
    expect(await rejectionOf(open(foreign("euclid"), wanted))).toMatchObject({
      kind: "collection_mismatch",
      message: expect.stringContaining("compares vectors by 'euclid'"),
    });
  });
});
