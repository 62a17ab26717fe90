import { expect, test } from "bun:test";
import { join } from "node:path";
import { SqliteCollectionStore } from "../../src/store/sqlite/sqlite-collections.ts";
import { collect } from "../support/collect.ts";
import { silentLog } from "../support/silence.ts";
import { tempDir } from "../support/temp-dir.ts";
import { batchSize, numbered } from "../support/upsert-forever.ts";
import { passageRepositoryContract } from "./passage-repository.ts";

passageRepositoryContract("SQLite", async () => {
  const folder = await tempDir();
  return {
    store: new SqliteCollectionStore(join(folder.path, "collections"), silentLog),
    restart: async () => {},
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
});

test("SQLite has, after a kill -9 amid upserts, everything that was reported as stored", async () => {
  await using folder = await tempDir();
  for (const most of [200, 1500]) {
    const writer = Bun.spawn(
      [process.execPath, join(import.meta.dir, "..", "support", "upsert-forever.ts"), folder.path],
      { stdout: "pipe", stderr: "inherit" },
    );
    let said = "";
    const decoder = new TextDecoder();
    for await (const bytes of writer.stdout) {
      said += decoder.decode(bytes, { stream: true });
      if (Number(said.trim().split("\n").at(-1)) >= most) writer.kill("SIGKILL");
    }
    await writer.exited;
    const reported = Number(said.trim().split("\n").at(-1));
    await using repository = await new SqliteCollectionStore(folder.path, silentLog).open("killed");
    const ids = (await collect(repository?.passages() ?? [])).map(({ id }) => id);
    expect(ids.length).toBeGreaterThanOrEqual(reported);
    expect(ids.length % batchSize).toBe(0);
    expect(new Set(ids).size).toBe(ids.length);
    const wanted = numbered(reported - 1);
    const found = await repository?.search(wanted.vector, { limit: 100, scoreThreshold: 0.99 });
    expect(found?.map(({ id }) => id)).toContain(wanted.id);
    const matched = await repository?.matchWords(`${reported - 1}`, wanted.vector, 5);
    expect(matched?.[0]?.id).toBe(wanted.id);
  }
});
