import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { copyFile, rename, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import type { FileRecord, StoreFile, StoreRecord } from "../../../../src/core/documents/records.ts";
import { sqliteDocuments } from "../../../../src/store/documents/sqlite-documents.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const file = (id: string): FileRecord => ({
  ...{ id, filename: `${id}.md`, bytes: 5, sha256: "", type: "text/markdown" },
  ...{ purpose: "assistants", createdAt: new Date("2026-11-15T12:00:00Z") },
});

test("the node's own loop turns while the registry waits for its disk or for another process", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "documents.sqlite");
  await using registry = sqliteDocuments(path);
  await registry.addFile(file("file-1"));
  using other = new Database(path);
  other.run("begin immediate");
  let isAdded = false;
  const adding = registry.addFile(file("file-2")).then(() => {
    isAdded = true;
  });
  for (let turns = 0; turns < 50; turns++) await new Promise((turn) => setImmediate(turn));
  expect(isAdded).toBe(false);
  other.run("rollback");
  await adding;
  expect(await registry.findFiles(["file-2", "file-1", "file-3"])).toEqual([
    file("file-2"),
    file("file-1"),
  ]);
});

test("a registry that nothing was written to is asked without a file or a thread", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "data", "documents.sqlite");
  await using registry = sqliteDocuments(path);
  expect(await registry.findFiles(["file-1"])).toEqual([]);
  expect(await registry.knownFiles(["file-1"])).toBeUndefined();
  expect(await registry.removals()).toEqual([]);
  expect(existsSync(path)).toBe(false);
});

test.each([
  ["gone from the disk", (path: string) => rename(path, `${path}.away`)],
  [
    "emptied",
    async (path: string) => {
      await copyFile(path, `${path}.away`);
      await truncate(path);
    },
  ],
])("a registry that is %s takes nothing that would be lost, until it is back", async (_, lose) => {
  await using folder = await tempDir();
  const path = join(folder.path, "documents.sqlite");
  await using registry = sqliteDocuments(path);
  await registry.addFile(file("file-1"));
  await waitFor("an empty log", async () => (await stat(`${path}-wal`)).size === 0);
  await lose(path);
  for (const asked of [registry.addFile(file("file-2")), registry.findFiles(["file-1"])]) {
    expect(await rejectionOf(asked)).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("Put it back"),
    });
  }
  await rename(`${path}.away`, path);
  await registry.addFile(file("file-2"));
  expect(await registry.findFiles(["file-1", "file-2"])).toHaveLength(2);
});

test("a backup that is put in the place of a registry is used from then on", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "documents.sqlite");
  await using registry = sqliteDocuments(path);
  await registry.addFile(file("file-1"));
  const backup = join(folder.path, "backup.sqlite");
  using database = new Database(path);
  database.run("vacuum into ?", [backup]);
  database.close();
  await registry.addFile(file("file-2"));
  await rename(backup, path);
  await registry.addFile(file("file-3"));
  await using other = sqliteDocuments(path);
  const found = await other.findFiles(["file-1", "file-2", "file-3"]);
  expect(found.map(({ id }) => id)).toEqual(["file-1", "file-3"]);
});

test("a file that is recovered before its bytes are gone is not deleted after all", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(join(folder.path, "documents.sqlite"));
  for (const id of ["file-1", "file-2"]) await registry.addFile(file(id));
  for (const id of ["file-1", "file-2"]) await registry.removeFile(id);
  await registry.addFile(file("file-1"));
  expect(await registry.deletions()).toEqual(["file-2"]);
  expect(await registry.removals()).toEqual([]);
});

test("a part of the registry can be awaited, or returned by what is", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(join(folder.path, "documents.sqlite"));
  const awaited = Promise.resolve(registry);
  const late = new Promise((resolve) => setTimeout(() => resolve("late"), 500));
  expect(await Promise.race([awaited, late])).toBe(registry);
});

test("what the registry refuses keeps its kind and its field", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(join(folder.path, "documents.sqlite"));
  await registry.addFile(file("file-1"));
  const page = { limit: 10, order: "asc", after: "file-nobody" } as const;
  expect(await rejectionOf(registry.files(page, {}))).toMatchObject({
    kind: "invalid_request",
    param: "after",
  });
});

test("a fault that nobody foresaw is logged, and the caller told that documents are unavailable", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "documents.sqlite");
  const { log, lines } = recordingLog();
  await using registry = sqliteDocuments(path, log);
  await registry.addStore({
    ...{ id: "vs_1", collection: "c", name: "", metadata: {}, state: "ready", isOwn: true },
    ...{ createdAt: new Date(), lastActiveAt: new Date() },
  });
  using other = new Database(path);
  other.run("update stores set metadata = 'no JSON'");
  const refused = await rejectionOf(registry.store("vs_1"));
  expect(refused).toMatchObject({ kind: "unavailable" });
  expect(lines).toMatchObject([
    { level: "error", fields: { store: "Documents", error: expect.any(Error) } },
  ]);
});

test("two that are added at once are not both within the last place", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(join(folder.path, "documents.sqlite"));
  const at = new Date();
  const add = (id: string) =>
    registry.addStore(
      {
        ...{ id, collection: id, name: "", metadata: {}, createdAt: at, lastActiveAt: at },
        ...{ state: "ready", isOwn: true },
      },
      { most: 2, mostOwn: 2 },
    );
  expect(await Promise.all([add("vs_1"), add("vs_2"), add("vs_3"), add("vs_1")])).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("of a vector store's finished batches, the last hundred are remembered", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "documents.sqlite");
  await using registry = sqliteDocuments(path);
  const createdAt = new Date();
  const put = async (id: string, store: string, status: StoreFile["status"]) => {
    const of = {
      store,
      file: `file-${status}`,
      filename: "a.md",
      document: status,
      attributes: {},
    };
    const counts = { isUploaded: true, usageBytes: 0, passages: 1, createdAt };
    await registry.putStoreFiles([{ ...of, ...counts, status }], {
      batch: { id, store, createdAt, isCancelled: false },
    });
  };
  await put("waiting", "vs_1", "in_progress");
  await put("other", "vs_2", "completed");
  for (let at = 0; at < 101; at++) await put(`batch-${at}`, "vs_1", "completed");
  expect(await registry.batch("vs_1", "batch-0")).toBeUndefined();
  for (const id of ["waiting", "batch-1", "batch-100"]) {
    expect(await registry.batch("vs_1", id)).toMatchObject({ id });
  }
  expect(await registry.batch("vs_2", "other")).toMatchObject({ id: "other" });
  using file = new Database(path, { readonly: true });
  const count = "select count(*) as count from batch_files";
  expect(file.query(count).get()).toEqual({ count: 102 });
});

test("a vector store's batches in progress take so many places, but for the last hundred", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(join(folder.path, "documents.sqlite"));
  const createdAt = new Date();
  const files = [0, 1].map((at) => ({
    ...{ store: "vs_1", file: `file-${at}`, filename: "a.md", document: `${at}`, attributes: {} },
    ...{ isUploaded: true, usageBytes: 0, passages: 0, status: "in_progress" as const, createdAt },
  }));
  const put = async (id: string) => {
    const batch = { id, store: "vs_1", createdAt, isCancelled: false };
    return await registry.putStoreFiles(files, { batch, maxQueue: 10 });
  };
  const outcomes: (string | undefined)[] = [];
  for (let at = 0; at < 110; at++) outcomes.push(await put(`batch-${at}`));
  expect(outcomes).toEqual([...Array(105).fill("put"), ...Array(5).fill("full")]);
  expect(await registry.batch("vs_1", "batch-0")).toMatchObject({ id: "batch-0" });
  for (const file of files) await registry.settle({ ...file, status: "completed" });
  expect(await put("next")).toBe("put");
  expect(await registry.batch("vs_1", "batch-0")).toBeUndefined();
});

test("a file that is deleted or removed, and a store that is deleted, leave no rows of batches", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "documents.sqlite");
  await using registry = sqliteDocuments(path);
  const at = new Date();
  for (const id of ["vs_1", "vs_2"]) {
    await registry.addStore({
      ...{ id, collection: id, name: "", metadata: {}, createdAt: at, lastActiveAt: at },
      ...{ state: "ready", isOwn: true },
    });
    const files = ["a", "b", "c"].map((file) => ({
      ...{ store: id, file, filename: "a.md", document: file, attributes: {}, createdAt: at },
      ...{ isUploaded: true, usageBytes: 0, passages: 1, status: "completed" as const },
    }));
    const batch = { id: `batch-${id}`, store: id, createdAt: at, isCancelled: false };
    await registry.putStoreFiles(files, { batch });
  }
  using file = new Database(path, { readonly: true });
  const left = () => file.query("select store, file from batch_files order by 1, 2").values();
  await registry.removeFile("a");
  await registry.removeStoreFile("vs_1", "b");
  expect(left()).toEqual([
    ["vs_1", "c"],
    ["vs_2", "b"],
    ["vs_2", "c"],
  ]);
  await registry.removeStore("vs_2", { collection: true });
  expect(left()).toEqual([["vs_1", "c"]]);
});

test("the registry of an earlier format is upgraded, and has what it had", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "documents.sqlite");
  const at = new Date();
  const store = (id: string): StoreRecord => ({
    ...{ id, collection: id, name: "", metadata: {}, createdAt: at, lastActiveAt: at },
    ...{ state: "ready", isOwn: true },
  });
  {
    await using registry = sqliteDocuments(path);
    await registry.addStore(store("vs_1"));
    await registry.addFile({ ...file("file-1"), owner: "ada" });
    await registry.addFile(file("file-2"));
  }
  {
    using earlier = new Database(path);
    earlier.run("alter table stores drop column owner");
    for (const index of ["batches_by_store", "files_by_purpose", "store_files_begun"])
      earlier.run(`drop index ${index}`);
    for (const trigger of ["file_added", "file_removed"]) earlier.run(`drop trigger ${trigger}`);
    earlier.run("drop table uploads");
    earlier.run("pragma user_version = 1");
  }
  await using registry = sqliteDocuments(path);
  expect(await registry.addStore({ ...store("vs_2"), owner: "ada" })).toBe(true);
  expect((await registry.outlines()).map(({ id }) => id)).toEqual(["vs_1", "vs_2"]);
  await registry.removeFile("file-2");
  expect(await registry.fileUsage()).toEqual({ bytes: 1024, files: 1 });
  expect(await registry.fileUsage("ada")).toEqual({ bytes: 1024, files: 1 });
});
