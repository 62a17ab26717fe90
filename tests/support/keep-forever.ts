/** A process that keeps responses until it is killed, and says after each how many are kept; the first is being made. */
import { SqliteResponses } from "../../src/store/responses/sqlite-responses.ts";
import { keptResponse } from "./test-responses.ts";

const [path = ""] = process.argv.slice(2);
const store = new SqliteResponses({
  ...{ path, now: Date.now, keepForMs: 1e9 },
  ...{ maxBytes: 1e9, maxResponseBytes: 1e6 },
});
const body = { text: "ü".repeat(20_000) };
await store.save(keptResponse("resp_made", { status: "in_progress", isBackground: true }));
for (let kept = 0; ; kept++) {
  await store.save(keptResponse(`resp_${kept}`, { body }));
  process.stdout.write(`${kept + 1}\n`);
}
