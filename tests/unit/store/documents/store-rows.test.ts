import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { documentRows } from "../../../../src/store/documents/sqlite-documents.ts";
import { countFromRestore, noteWrite } from "../../../../src/store/documents/store-rows.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const dayMs = 86_400_000;
const now = Date.now();
const lastUse = now - 7 * dayMs;
const asThen = { birthtimeMs: lastUse, mtimeMs: lastUse, ctimeMs: lastUse };

const idleStore = {
  ...{ id: "vs_1", collection: "vs_1", name: "notes", metadata: {}, isOwn: true },
  ...{ createdAt: new Date(lastUse), lastActiveAt: new Date(lastUse), expiresAfterDays: 1 },
  state: "ready" as const,
};

/** When a vector store was last used, by a registry whose file has these times. */
async function lastUseBy(times: typeof asThen): Promise<number | undefined> {
  await using folder = await tempDir();
  const path = `${folder.path}/documents.sqlite`;
  using registry = documentRows(path);
  registry.addStore(idleStore);
  using database = new Database(path);
  // Written then too.
  noteWrite(database, lastUse);
  countFromRestore(database, times, now);
  return registry.store("vs_1")?.lastActiveAt.getTime();
}

test("a vector store counts its expiry from the start where a backup was copied or renamed into the registry's place", async () => {
  expect(await lastUseBy({ ...asThen, birthtimeMs: now, ctimeMs: now })).toBe(now);
  expect(await lastUseBy({ ...asThen, mtimeMs: now, ctimeMs: now })).toBe(now);
  expect(await lastUseBy({ ...asThen, ctimeMs: now })).toBe(now);
  expect(await lastUseBy(asThen)).toBe(lastUse);
});

test("a vector store expires where the registry was written long after its last use, as by a deletion", async () => {
  await using folder = await tempDir();
  const path = `${folder.path}/documents.sqlite`;
  {
    using registry = documentRows(path);
    registry.addStore(idleStore);
    registry.removed({ collection: "vs_2", document: undefined });
  }
  using registry = documentRows(path);
  expect(registry.store("vs_1")?.lastActiveAt.getTime()).toBe(lastUse);
});
