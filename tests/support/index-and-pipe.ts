/**
 * A process that saves an index into a pipe, and loads it from there: usearch blocks until somebody
 * is at the pipe's other end. It says each time that its loop had a hundred turns meanwhile.
 */
import { indexThread } from "../../src/store/sqlite/vector-index.ts";

const [pipe = ""] = process.argv.slice(2);
const options = { dimension: 2, expansion: 16 };

async function turns(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const index = indexThread(options);
await index.add(BigUint64Array.of(3n, 8n), Float32Array.of(1, 0, 0, 1));
const saving = index.save(pipe);
await turns();
process.stdout.write("saving\n");
await saving;
await index[Symbol.asyncDispose]();

const again = indexThread(options);
const loading = again.load(pipe, 8);
await turns();
process.stdout.write("loading\n");
await loading;
const { keys, lastKey } = await again.search(Float32Array.of(0, 1), 5);
process.stdout.write(`${JSON.stringify({ keys, lastKey })}\n`);
await again[Symbol.asyncDispose]();
process.stdout.write("closed\n");
