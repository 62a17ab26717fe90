import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { documentRows } from "../../../../src/store/documents/sqlite-documents.ts";
import { countFromRestore } from "../../../../src/store/documents/store-rows.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const dayMs = 86_400_000;
const now = Date.now();
const lastUse = now - 7 * dayMs;
const asThen = { birthtimeMs: lastUse, mtimeMs: lastUse, ctimeMs: lastUse };

/** When a vector store was last used, by a registry whose file has these times. */
async function lastUseBy(times: typeof asThen): Promise<number | undefined> {
  await using folder = await tempDir();
  const path = `${folder.path}/documents.sqlite`;
  const at = new Date(lastUse);
  using registry = documentRows(path);
  registry.addStore({
    ...{ id: "vs_1", collection: "vs_1", name: "notes", metadata: {}, state: "ready", isOwn: true },
    ...{ createdAt: at, lastActiveAt: at, expiresAfterDays: 1 },
  });
  using database = new Database(path);
  countFromRestore(database, times, now);
  return registry.store("vs_1")?.lastActiveAt.getTime();
}

test("a vector store counts its expiry from the start where a backup was copied or renamed into the registry's place", async () => {
  expect(await lastUseBy({ ...asThen, birthtimeMs: now, ctimeMs: now })).toBe(now);
  expect(await lastUseBy({ ...asThen, mtimeMs: now, ctimeMs: now })).toBe(now);
  expect(await lastUseBy({ ...asThen, ctimeMs: now })).toBe(now);
  expect(await lastUseBy(asThen)).toBe(lastUse);
});
