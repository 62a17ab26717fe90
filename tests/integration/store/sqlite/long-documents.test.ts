/** A document of very many passages, as a large table has. */
import { expect, test } from "bun:test";
import type { EmbeddedPassage } from "../../../../src/core/ports/passage-repository.ts";
import { passage } from "../../../support/passages.ts";
import { memoryRepository } from "../../../support/test-models.ts";

const passages = 40_000;
const batch = 2000;

/** The CPU time of reading all that is given, and the ids in their order. */
async function reading(found: AsyncIterable<EmbeddedPassage>) {
  const before = process.cpuUsage();
  const ids: string[] = [];
  for await (const { id } of found) ids.push(id);
  const { user, system } = process.cpuUsage(before);
  return { ids, cpu: user + system };
}

test("is read as fast as the same passages are as a collection", async () => {
  await using repository = memoryRepository(2);
  for (let from = 0; from < passages; from += batch) {
    // Two of one document may have the same place, while one version replaces the other.
    const some = Array.from({ length: batch }, (_, at) =>
      passage(from + at, [1, 1], { position: Math.floor((from + at) / 2) }),
    );
    await repository.upsert(some);
  }
  const all = await reading(repository.passages());
  const ofDocument = await reading(repository.passages("a.md"));
  expect(ofDocument.ids).toEqual(all.ids);
  expect(ofDocument.ids).toHaveLength(passages);
  expect(ofDocument.cpu).toBeLessThan(3 * all.cpu);
});
