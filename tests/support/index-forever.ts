/** A process that stores, replaces and removes passages of a collection with small segments until it is killed, and says after each step what is stored. */
import { SqliteCollectionStore } from "../../src/store/sqlite/sqlite-collections.ts";
import { passage } from "./passages.ts";
import { silentLog } from "./silence.ts";
import { specOf } from "./test-models.ts";

export const batchSize = 100;

/** Small, so that segments and graphs are written all the time. */
export const sizes = { least: 100, most: 200 };

export const documentOf = (batch: number): string => `${batch}.md`;

/** The passages of a batch, each with a direction and a word of its own. */
export const batchOf = (batch: number) =>
  Array.from({ length: batchSize }, (_, at) => {
    const number = batch * batchSize + at;
    const vector = [Math.sin(number * 7), Math.cos(number * 3), Math.sin(number)];
    return passage(number, vector, { document: documentOf(batch), source: `llama n${number}` });
  });

/** Of every four batches, the second is removed again when the fourth is stored. */
export const isRemoved = (batch: number): boolean => batch % 4 === 1;

if (import.meta.main) {
  const [folder = ""] = process.argv.slice(2);
  const store = new SqliteCollectionStore(folder, silentLog, sizes);
  const repository = await store.create("killed", specOf(3));
  for (let batch = 0; ; batch++) {
    await repository.upsert(batchOf(batch));
    process.stdout.write(`stored ${batch}\n`);
    if (batch % 4 !== 3) continue;
    await repository.delete(documentOf(batch - 2));
    process.stdout.write(`removed ${batch - 2}\n`);
  }
}
