/**
 * `bun run bench:documents`: what it costs to take documents in over HTTP: passages a second against
 * bare embedding, a question alone and beside it, and memory with many documents.
 */
import { writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import OpenAI, { toFile } from "openai";
import { servePaddock } from "../../tests/support/paddock-process.ts";
import { memoryOf } from "../../tests/support/process-tree.ts";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { measured } from "../measuring/statistics.ts";
import { benchModels } from "../servers/bench-models.ts";

const { values: options } = parseArgs({
  options: {
    /** Documents of the run for memory; 0: none. */
    documents: { type: "string", default: "10000" },
    /** Passages of the run for speed. */
    passages: { type: "string", default: "600" },
    rounds: { type: "string", default: "3" },
  },
});
const documents = Number(options.documents);
const passages = Number(options.passages);
const rounds = Number(options.rounds);
const model = "embedding";
const say = (text: string): void => void process.stderr.write(`${text}\n`);

const { embedding } = await benchModels(availableParallelism());
await using folder = await tempDir();
await writeFile(
  join(folder.path, "paddock.toml"),
  `[vectorstore]\nhandbook = false\nscore_threshold = -1\n[documents]\nmax_queue = 20000\n[[models]]\nname = "${model}"\ntype = "embedding"\nsource = ${JSON.stringify(embedding)}\n`,
);
await using node = await servePaddock({ cwd: folder.path, env: { PADDOCK_LOG_LEVEL: "error" } });
const client = new OpenAI({ baseURL: `${node.origin}/v1`, apiKey: "any" });

let seed = 1;
const words = (count: number): string =>
  Array.from({ length: count }, () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return `word${seed % 997}`;
  }).join(" ");
/** About a hundred tokens, which is a passage of its own under its heading. */
const part = (at: number): string => `# Part ${at}\n\n${words(40)}.`;
const text = (parts: number): string =>
  Array.from({ length: parts }, (_, at) => part(at)).join("\n\n");
const named = (content: string, name: string) => toFile(Buffer.from(content), name);

/** Bare embedding of the same texts, in requests of 64. */
async function embedBare(): Promise<number> {
  const inputs = Array.from({ length: passages }, (_, at) => part(at));
  const from = performance.now();
  for (let start = 0; start < passages; start += 64) {
    await client.embeddings.create({ model, input: inputs.slice(start, start + 64) });
  }
  return (passages / (performance.now() - from)) * 1000;
}

async function takeIn(): Promise<number> {
  const store = await client.vectorStores.create({});
  const file = await named(text(passages), "speed.md");
  const from = performance.now();
  const taken = await client.vectorStores.files.uploadAndPoll(store.id, file, {
    pollIntervalMs: 50,
  });
  const rate = (passages / (performance.now() - from)) * 1000;
  if (taken.status !== "completed") throw new Error(taken.last_error?.message);
  await client.vectorStores.delete(store.id);
  return rate;
}

const small = await client.vectorStores.create({ name: "small" });
await client.vectorStores.files.uploadAndPoll(small.id, await named(text(100), "small.md"));

async function ask(): Promise<number> {
  const from = performance.now();
  await client.vectorStores.search(small.id, { query: words(8) });
  return performance.now() - from;
}

async function asked(): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < 50; count++) {
    times.push(await ask());
    await Bun.sleep(50);
  }
  return times;
}

async function besideTakingIn(): Promise<number[]> {
  const store = await client.vectorStores.create({});
  const files = await Promise.all(
    Array.from({ length: 100 }, async (_, at) => {
      const file = await named(text(30), `${at}.md`);
      return (await client.files.create({ file, purpose: "assistants" })).id;
    }),
  );
  await client.vectorStores.fileBatches.create(store.id, { file_ids: files });
  const times = await asked();
  const { in_progress: left } = (await client.vectorStores.retrieve(store.id)).file_counts;
  if (left === 0) say("everything was ingested before the questions were over: give it more");
  await client.vectorStores.delete(store.id);
  return times;
}

const rows: { what: string; value: string }[] = [];
const bare: number[] = [];
const queue: number[] = [];
const alone: number[] = [];
const beside: number[] = [];
/** For a while after a question the node takes documents in more slowly; that is over then. */
const quietAgainMs = 11_000;

for (let round = 0; round < rounds; round++) {
  say(`round ${round + 1} of ${rounds}`);
  await Bun.sleep(round === 0 ? 0 : quietAgainMs);
  bare.push(await embedBare());
  queue.push(await takeIn());
  alone.push(...(await asked()));
  beside.push(...(await besideTakingIn()));
}
const median = (values: readonly number[]): number => measured([...values]).median;
rows.push(
  { what: "bare embedding, passages/s", value: median(bare).toFixed(0) },
  { what: "ingested over HTTP, passages/s", value: median(queue).toFixed(0) },
  { what: "ratio", value: (median(queue) / median(bare)).toFixed(2) },
  { what: "a search alone, ms", value: median(alone).toFixed(1) },
  { what: "a search beside taking in, ms", value: median(beside).toFixed(1) },
  { what: "ratio", value: (median(beside) / median(alone)).toFixed(2) },
);
if (documents > 0) {
  const before = await memoryOf(node.process.pid);
  const store = await client.vectorStores.create({});
  for (let done = 0; done < documents; done += 500) {
    const count = Math.min(500, documents - done);
    const files = await Promise.all(
      Array.from({ length: count }, (_, at) => named(part(done + at), `${done + at}.md`)),
    );
    await client.vectorStores.fileBatches.uploadAndPoll(store.id, { files });
    say(`${done + count} documents`);
  }
  const after = await memoryOf(node.process.pid);
  rows.push(
    { what: "memory before, MB", value: (before / 1e6).toFixed(0) },
    { what: `memory with ${documents} documents, MB`, value: (after / 1e6).toFixed(0) },
  );
}
console.log(
  `${cpus()[0]?.model}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(2)}\n`,
);
for (const { what, value } of rows) console.log(`| ${what} | ${value} |`);
