/** `bun run bench:soak`: a node under a mix of everything, with clients that leave, for minutes; errors, latencies and memory over time. */
import { writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { servePaddock } from "../tests/support/paddock-process.ts";
import { memoryOf, runnerOf } from "../tests/support/process-tree.ts";
import { tempDir } from "../tests/support/temp-dir.ts";
import { measured } from "./measuring/statistics.ts";
import { benchModels } from "./servers/bench-models.ts";

const { values: options } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    clients: { type: "string", default: "8" },
    /** All of them stream, and nothing else is asked. */
    streams: { type: "boolean", default: false },
    isolation: { type: "string", default: "process" },
    /** Kills a model's process about so often, in seconds; 0: never. */
    kill: { type: "string", default: "0" },
  },
});
const totalMs = Number(options.minutes) * 60_000;
const say = (text: string): void => void process.stderr.write(`${text}\n`);

const { small, embedding } = await benchModels(availableParallelism());
await using folder = await tempDir();
const model = (name: string, type: string, path: string): string =>
  `[[models]]\nname = "${name}"\ntype = "${type}"\nsource = ${JSON.stringify(path)}\n`;
await writeFile(
  join(folder.path, "paddock.toml"),
  `${model("chat", "chat", small)}ctx_size = 2048\nmax_queue = ${Number(options.clients) + 8}\nquantization = "as-is"\n${model("embedding", "embedding", embedding)}`,
);
await using node = await servePaddock({
  cwd: folder.path,
  env: { PADDOCK_LOG_LEVEL: "error", PADDOCK_ISOLATION: options.isolation },
});

type Operation = "chat" | "stream" | "left" | "grounded" | "embeddings" | "retrieve" | "models";
interface Period {
  latencies: Map<Operation, number[]>;
  errors: Map<string, number>;
}
const newPeriod = (): Period => ({ latencies: new Map(), errors: new Map() });
let period = newPeriod();
const whole = newPeriod();

const startedAt = performance.now();
const isOver = (): boolean => performance.now() - startedAt > totalMs;

let asked = 0;
const words = (count: number): string =>
  Array.from({ length: count }, (_, at) => `word${(asked * 31 + at * 17) % 997}`).join(" ");

const chatBody = (rest: object) => ({
  model: "chat",
  max_tokens: 8 + (asked % 56),
  messages: [{ role: "user", content: `${asked} ${words(asked % 120)} How do I add an API key?` }],
  ...rest,
});

const requests: Record<Operation, () => [path: string, body?: object]> = {
  chat: () => ["/chat/completions", chatBody({})],
  stream: () => ["/chat/completions", chatBody({ stream: true })],
  left: () => ["/chat/completions", chatBody({ stream: true, max_tokens: 400 })],
  grounded: () => ["/chat/completions", chatBody({ rag: true })],
  embeddings: () => [
    "/embeddings",
    { model: "embedding", input: Array.from({ length: 1 + (asked % 16) }, () => words(20)) },
  ],
  retrieve: () => [
    "/retrieve",
    { model: "embedding", messages: [{ role: "user", content: "How do I add an API key?" }] },
  ],
  models: () => ["/models"],
};
const mix: Operation[] = [
  "chat",
  "stream",
  "left",
  "embeddings",
  "retrieve",
  "stream",
  "grounded",
  "models",
];

function note(operation: Operation, ms: number, error: string | undefined): void {
  for (const { latencies, errors } of [period, whole]) {
    if (error !== undefined) {
      errors.set(error, (errors.get(error) ?? 0) + 1);
      continue;
    }
    const known = latencies.get(operation) ?? [];
    known.push(ms);
    latencies.set(operation, known);
  }
}

async function one(operation: Operation): Promise<void> {
  asked++;
  const [path, body] = requests[operation]();
  const leave = new AbortController();
  const begun = performance.now();
  let error: string | undefined;
  try {
    const response = await fetch(`${node.origin}/v1${path}`, {
      signal: leave.signal,
      ...(body === undefined
        ? {}
        : {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(body),
          }),
    });
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      if (operation === "left" && text.length > 500 * (1 + (asked % 8))) leave.abort();
    }
    if (!response.ok) error = `${response.status} ${/"code":"(\w+)"/.exec(text)?.[1]}`;
    else if (text.includes('data: {"error"')) error = "a broken stream";
  } catch (cause) {
    if (!leave.signal.aborted) error = cause instanceof Error ? cause.message : String(cause);
  }
  note(operation, performance.now() - begun, error);
}

const rows: string[] = [];
const memory: number[] = [];

async function report(): Promise<void> {
  const { latencies, errors } = period;
  period = newPeriod();
  const minutes = Math.round((performance.now() - startedAt) / 60_000);
  const megabytes = (await memoryOf(node.process.pid)) / 1e6;
  memory.push(megabytes);
  const count = [...latencies.values()].reduce((sum, { length }) => sum + length, 0);
  const failed = [...errors.values()].reduce((sum, number) => sum + number, 0);
  const p50 = (operation: Operation): string =>
    measured(latencies.get(operation) ?? []).median.toFixed(0);
  const row = `| ${minutes} | ${count} | ${failed} | ${p50("chat")} | ${p50("stream")} | ${p50("embeddings")} | ${p50("retrieve")} | ${megabytes.toFixed(0)} |`;
  rows.push(row);
  say(row);
}

const [load = 0] = loadavg();
const machine = `${cpus()[0]?.model ?? "unknown CPU"}, ${availableParallelism()} cores, load ${load.toFixed(2)} before the run`;
say(`${machine}; ${options.minutes} minutes, ${options.clients} clients`);
const ticker = setInterval(() => void report(), 60_000);
const { kill } = options;
const killer = kill === "0" ? undefined : setInterval(() => void killRunner(), Number(kill) * 1000);

async function killRunner(): Promise<void> {
  process.kill(await runnerOf(node.process.pid, "chat"), "SIGKILL");
}

/** What somebody who watches the node sees meanwhile. */
const healthMs: number[] = [];
async function watchHealth(): Promise<void> {
  while (!isOver()) {
    const begun = performance.now();
    await (await fetch(`${node.origin}/health`)).arrayBuffer();
    healthMs.push(performance.now() - begun);
    await Bun.sleep(50);
  }
}

const clients: readonly Operation[] = options.streams ? ["stream"] : mix;
await Promise.all([
  watchHealth(),
  ...Array.from({ length: Number(options.clients) }, async (_, client) => {
    for (let at = client; !isOver(); at++) await one(clients[at % clients.length] ?? "models");
  }),
]);
clearInterval(ticker);
clearInterval(killer);
await report();
const ready = await (await fetch(`${node.origin}/ready`)).text();

const percentile = (values: number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN;
const operations = [...whole.latencies].map(
  ([operation, values]) =>
    `| ${operation} | ${values.length} | ${percentile(values, 0.5).toFixed(0)} | ${percentile(values, 0.95).toFixed(0)} | ${percentile(values, 0.99).toFixed(0)} |`,
);
const errors = [...whole.errors].map(([error, count]) => `${error}: ${count}`);
process.stdout.write(
  [
    `${new Date().toISOString().slice(0, 10)}, ${machine}; ${options.minutes} minutes, ${options.clients} clients`,
    "",
    "| Minute | Answered | Failed | Chat ms | Stream ms | Embeddings ms | Retrieve ms | Memory MB |",
    "|---|---|---|---|---|---|---|---|",
    ...rows,
    "",
    "| Operation | Answered | p50 ms | p95 ms | p99 ms |",
    "|---|---|---|---|---|",
    ...operations,
    "",
    `/health: ${healthMs.length} answers, p50 ${percentile(healthMs, 0.5).toFixed(1)} ms, p99 ${percentile(healthMs, 0.99).toFixed(1)} ms, longest ${Math.max(...healthMs).toFixed(0)} ms.`,
    "",
    `Errors: ${errors.length === 0 ? "none" : errors.join(", ")}. Memory at the end against minute 2: ${((memory.at(-1) ?? 0) / (memory[1] ?? memory[0] ?? 1)).toFixed(3)}. /ready at the end: ${ready}`,
    "",
  ].join("\n"),
);
