/** The registry of documents where a node has tens of thousands of files. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { FileRecord, StoreFile } from "../../../../src/core/documents/records.ts";
import { documentRows, sqliteDocuments } from "../../../../src/store/documents/sqlite-documents.ts";
import { queryPlans } from "../../../support/query-plans.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const file = (id: string): FileRecord => ({
  ...{ id, filename: `${id}.md`, bytes: 5, sha256: "", type: "text/markdown" },
  ...{ purpose: "assistants", createdAt: new Date("2026-11-15T12:00:00Z") },
});

test("what files take is known for all and for each owner, as they come and go", async () => {
  await using folder = await tempDir();
  await using registry = sqliteDocuments(join(folder.path, "documents.sqlite"));
  expect(await registry.fileUsage()).toEqual({ bytes: 0, files: 0 });
  await registry.addFile({ ...file("file-1"), bytes: 5000, owner: "ada" });
  await registry.addFile({ ...file("file-2"), owner: "ada" });
  await registry.addFile(file("file-3"));
  expect(await registry.fileUsage()).toEqual({ bytes: 7048, files: 3 });
  expect(await registry.fileUsage("ada")).toEqual({ bytes: 6024, files: 2 });
  await registry.removeFile("file-1");
  expect(await registry.fileUsage("ada")).toEqual({ bytes: 1024, files: 1 });
  await registry.removeFile("file-2");
  expect(await registry.fileUsage("ada")).toEqual({ bytes: 0, files: 0 });
  expect(await registry.fileUsage()).toEqual({ bytes: 1024, files: 1 });
});

test("of many files, few are read for what they take, a page of a list, one file or a search", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "documents.sqlite");
  using rows = documentRows(path);
  rows.addFile(file("file-0"));
  using other = new Database(path);
  other.run(`
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000)
    insert into files (id, filename, bytes, sha256, type, purpose, owner, created_at)
      select 'file-' || i, 'a.md', 5, '', 'text/markdown', 'assistants', 'ada', 0 from n`);
  other.run(`insert into store_files
      (store, file, filename, document, attributes, status, usage_bytes, passages, created_at, uploaded)
    select 'vs_1', id, filename, id, '{}', 'completed', 5, 1, 0, 1 from files`);
  const at = new Date();
  rows.addStore({
    ...{ id: "vs_3", collection: "vs_3", name: "", metadata: {}, createdAt: at, lastActiveAt: at },
    ...{ state: "ready", isOwn: true },
  });
  other.run(`insert into store_files
      (store, file, filename, document, attributes, status, usage_bytes, passages, created_at, uploaded)
    select 'vs_3', id, filename, id, '{}', 'in_progress', 0, 0, 0, 1 from files`);
  rows.begin("vs_3", "file-7");
  expect(rows.hidden("vs_3")).toEqual(new Set(["file-7"]));
  const page = { limit: 1, order: "desc" } as const;
  const visibleTo = (owner: string, ...stores: string[]) => ({ visible: { owner, stores } });
  const costly = (work: () => unknown): string[] =>
    queryPlans(other, work).filter((step) => /^SCAN (store_)?files\b|TEMP B-TREE/.test(step));
  // Who sees many gets them from the newest on, until the page is full; who sees few, those in their order.
  const [inTurn, sorted] = [["SCAN files"], ["USE TEMP B-TREE FOR ORDER BY"]];
  expect({
    found: costly(() => rows.findFiles(["file-7"], { owner: "bob", stores: ["vs_1"] })),
    hidden: costly(() => rows.hidden("vs_3")),
    usage: costly(() => rows.fileUsage("ada")),
    purpose: costly(() => rows.files(page, { purpose: "vision" })),
    own: costly(() => rows.files(page, visibleTo("ada"))),
    store: costly(() => rows.files(page, visibleTo("bob", "vs_1"))),
    none: costly(() => rows.files(page, visibleTo("bob", "vs_2"))),
  }).toEqual({
    found: [],
    hidden: [],
    usage: [],
    purpose: [],
    own: inTurn,
    store: inTurn,
    none: sorted,
  });
});

test("files that are added to a vector store which has them get their attributes, and are not written again", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "documents.sqlite");
  await using registry = sqliteDocuments(path);
  const at = new Date();
  await registry.addStore({
    ...{ id: "vs_1", collection: "vs_1", name: "", metadata: {}, createdAt: at, lastActiveAt: at },
    ...{ state: "ready", isOwn: true },
  });
  const added = ["file-1", "file-2", "file-3"].map(
    (id): StoreFile => ({
      ...{ store: "vs_1", file: id, filename: "a.md", document: id, attributes: {} },
      ...{ status: "completed", isUploaded: true, usageBytes: 5, passages: 1, createdAt: at },
    }),
  );
  for (const one of added) await registry.addFile(file(one.file));
  await registry.putStoreFiles(added);
  using other = new Database(path);
  other.run("create table written (file text)");
  other.run(`create trigger is_written after update on store_files begin
    insert into written values (new.file); end`);
  const batch = { id: "vsfb_1", store: "vs_1", createdAt: at, isCancelled: false };
  const again = added.map((one) =>
    one.file === "file-2" ? { ...one, attributes: { year: 2026 } } : one,
  );
  expect(await registry.putStoreFiles(again, { batch, unchanged: again })).toBe("put");
  expect(other.query("select file from written").values()).toEqual([["file-2"]]);
  expect((await registry.inStore("vs_1", ["file-2"]))[0]?.attributes).toEqual({ year: 2026 });
  expect(await registry.counts({ store: "vs_1", batch: "vsfb_1" })).toMatchObject({ completed: 3 });
});

test("a caller with many files sees those, and no others", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "documents.sqlite");
  await using registry = sqliteDocuments(path);
  await registry.addFile({ ...file("other"), owner: "bob" });
  using others = new Database(path);
  others.run(`
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 12000)
    insert into files (id, filename, bytes, sha256, type, purpose, owner, created_at)
      select 'file-' || i, 'a.md', 5, '', 'text/markdown', iif(i % 4000, 'assistants', 'vision'), 'ada', 0
      from n`);
  others.run(`insert into store_files
      (store, file, filename, document, attributes, status, usage_bytes, passages, created_at, uploaded)
    select 'vs_1', id, filename, id, '{}', 'completed', 5, 1, 0, 1 from files where owner = 'ada'`);
  const page = { limit: 2, order: "asc" } as const;
  for (const visible of [
    { owner: "ada", stores: [] },
    { owner: "eve", stores: ["vs_1"] },
  ]) {
    const first = await registry.files(page, { visible });
    expect(first.items.map(({ id }) => id)).toEqual(["file-1", "file-2"]);
    const more = await registry.files({ ...page, after: "file-11998" }, { visible });
    expect([more.items.map(({ id }) => id), more.hasMore]).toEqual([
      ["file-11999", "file-12000"],
      false,
    ]);
    const seen = await registry.files({ limit: 5, order: "desc" }, { visible, purpose: "vision" });
    expect(seen.items.map(({ id }) => id)).toEqual(["file-12000", "file-8000", "file-4000"]);
    const beyond = registry.files({ ...page, after: "other" }, { visible });
    expect(await rejectionOf(beyond)).toMatchObject({ param: "after" });
  }
});
