import { describe, expect, test } from "bun:test";
import type { CollectionSpec } from "../../../../src/core/ports/passage-repository.ts";
import { SqliteCollectionStore } from "../../../../src/store/sqlite/sqlite-collections.ts";
import { collect } from "../../../support/collect.ts";
import { passage } from "../../../support/passages.ts";
import { silentLog } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const spec: CollectionSpec = {
  dimension: 3,
  embedding: { model: "m", fingerprint: "f", queryPrefix: "", documentPrefix: "" },
};

const count = 4000;
const many = Array.from({ length: count }, (_, at) =>
  passage(at, [Math.sin(at), Math.cos(at), 1], { document: at % 4 === 0 ? "kept.md" : "large.md" }),
);

/** How often others had their turn while it was done. */
async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const tick = (): void => {
    turns++;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  await work();
  isOver = true;
  return turns;
}

describe("a large document of a SQLite collection", () => {
  test("is read, removed and dropped while others have their turn", async () => {
    await using folder = await tempDir();
    const store = new SqliteCollectionStore(folder.path, silentLog);
    await using repository = await store.create("large", spec);
    await repository.upsert(many);
    const reading = await turnsOf(() => collect(repository.passages("large.md")));
    expect(reading).toBeGreaterThan(5);
    const keep = new Set(many.slice(0, 10).map(({ id }) => id));
    let removed = 0;
    const removing = await turnsOf(async () => {
      removed = await repository.delete("large.md", keep);
    });
    expect(removing).toBeGreaterThan(3);
    expect(removed).toBe((count * 3) / 4 - 7);
    expect(await repository.count()).toBe(count / 4 + 7);
    await repository.upsert(many);
    expect(await turnsOf(() => store.drop("large"))).toBeGreaterThan(3);
    expect(await store.open("large")).toBeUndefined();
    expect(await repository.count()).toBe(0);
  });
});
