/** A process that stores passages until it is killed, and says after each batch how many are stored. */
import { SqliteCollectionStore } from "../../src/store/sqlite/sqlite-collections.ts";
import { passage } from "./passages.ts";
import { silentLog } from "./silence.ts";
import { specOf } from "./test-models.ts";

export const batchSize = 50;

/** A passage with a direction of its own. */
export const numbered = (at: number) =>
  passage(at, [Math.sin(at * 7), Math.cos(at * 3), Math.sin(at)]);

if (import.meta.main) {
  const [folder = ""] = process.argv.slice(2);
  const repository = await new SqliteCollectionStore(folder, silentLog).create("killed", specOf(3));
  for (let stored = 0; ; stored += batchSize) {
    await repository.upsert(Array.from({ length: batchSize }, (_, at) => numbered(stored + at)));
    process.stdout.write(`${stored + batchSize}\n`);
  }
}
