/**
 * `bun bench:ingest [--files 100000] [--megabytes 60]`: `paddock ingest` of many small files, and of one
 * large file, with an upstream embedder that answers 2,000 texts a second, played by this process.
 * Prints passages a second, and the processor time and memory of each process.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPaddock } from "../../tests/support/paddock-process.ts";
import { childrenOf, isAlive, memoryOf } from "../../tests/support/process-tree.ts";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { cpuSeconds } from "../front/process-times.ts";
import { killAtExit } from "../servers/kill-at-exit.ts";

const { values: options } = parseArgs({
  options: {
    /** Small files, of one passage each; 0: none. */
    files: { type: "string", default: "100000" },
    /** Size of the large file; 0: none. */
    megabytes: { type: "string", default: "60" },
    /** What the embedder answers in a second. */
    rate: { type: "string", default: "2000" },
  },
});
const rate = Number(options.rate);
const dimension = 384;
const say = (text: string): void => void process.stderr.write(`${text}\n`);

let seed = 1;
const random = (): number => {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed;
};
const words = (count: number): string =>
  Array.from({ length: count }, () => `word${random() % 9973}`).join(" ");

/** Made before, so that this process takes little of the machine. */
const vectors = Array.from({ length: 4096 }, () => {
  const vector = Float32Array.from({ length: dimension }, () => random() / 1_073_741_824 - 1);
  return Buffer.from(vector.buffer).toString("base64");
});

let texts = 0;
let requests = 0;
let freeAt = 0;
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/v1/models") return Response.json({ data: [{ id: "embedder" }] });
    if (pathname !== "/v1/embeddings") return new Response("", { status: 404 });
    const { input }: { input: string[] } = JSON.parse(await request.text());
    const now = performance.now();
    freeAt = Math.max(now, freeAt) + (input.length / rate) * 1000;
    await Bun.sleep(freeAt - now);
    requests += 1;
    texts += input.length;
    const data = input.map((_, index) => ({ index, embedding: vectors[(texts + index) % 4096] }));
    return Response.json({ data, usage: { prompt_tokens: input.length } });
  },
});

/** Processor time and memory of the command, and of its reading process. */
async function look(pid: number): Promise<void> {
  const [reader = 0] = await childrenOf(pid);
  const [all, read] = [await memoryOf(pid), await memoryOf(reader)];
  if (reader === 0 || !isAlive(pid) || !isAlive(reader)) return;
  cpu = [cpuSeconds(pid), cpuSeconds(reader)];
  memory.push({ texts, bytes: [all - read, read] });
}
let cpu = [0, 0];
let memory: { texts: number; bytes: readonly number[] }[] = [];

const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;

async function measure(what: string, fill: (folder: string) => Promise<void>): Promise<void> {
  await using folder = await tempDir();
  const cwd = folder.path;
  await mkdir(join(cwd, "documents"));
  await fill(join(cwd, "documents"));
  await writeFile(
    join(cwd, "paddock.toml"),
    `[ingest]\nread_timeout = 600\n[[models]]\nname = "embedder"\ntype = "embedding"\nsource = "openai:${server.url}v1"\n`,
  );
  [texts, requests, cpu, memory] = [0, 0, [0, 0], []];
  const own = process.cpuUsage();
  const from = performance.now();
  await using command = startPaddock(["ingest", "documents", "--json"], { cwd });
  killAtExit(command.process);
  const timer = setInterval(() => void look(command.process.pid), 200);
  const code = await command.exit();
  clearInterval(timer);
  const seconds = (performance.now() - from) / 1000;
  if (code !== 0) throw new Error(command.stderr());
  const { passages } = JSON.parse(command.stdout());
  const stored: number = passages.stored;
  const { user, system } = process.cpuUsage(own);
  const perPassage = [...cpu, (user + system) / 1e6].map((each) => (each / stored) * 1000);
  const [ingest, reading, embedder] = perPassage.map((each) => each.toFixed(2));
  const most = (at: number, share: number): string =>
    mb(
      memory.reduce(
        (most, { texts, bytes }) => Math.max(most, texts > stored * share ? 0 : (bytes[at] ?? 0)),
        0,
      ),
    );
  console.log(
    `| ${what} | ${stored} | ${(stored / seconds).toFixed(0)} | ${ingest} / ${reading} / ${embedder} ms | ${most(0, 0.2)} → ${most(0, 1)} | ${most(1, 0.2)} → ${most(1, 1)} | ${(stored / requests).toFixed(0)} | ${loadavg()[0]?.toFixed(1)} |`,
  );
}

console.log(
  `${cpus()[0]?.model}, ${availableParallelism()} cores\n\n| Documents | Passages | Passages a second | Processor time a passage: ingest / reader / embedder | Most memory, first fifth → all: ingest | reader | Texts a request | Load |\n|---|---|---|---|---|---|---|---|`,
);
const files = Number(options.files);
if (files > 0) {
  await measure(`${files} small files`, async (folder) => {
    for (let at = 0; at < files; at++) {
      const inner = join(folder, `${Math.floor(at / 1000)}`);
      if (at % 1000 === 0) await mkdir(inner);
      await writeFile(join(inner, `${at}.md`), `# Part ${at}\n\n${words(40)}.\n`);
    }
    say(`${files} files are written`);
  });
}
const megabytes = Number(options.megabytes);
if (megabytes > 0) {
  await measure(`one file of ${megabytes} MB`, async (folder) => {
    const parts: string[] = [];
    for (let bytes = 0, at = 0; bytes < megabytes * 1e6; at++) {
      const part = `# Part ${at}\n\n${words(40)}.\n\n`;
      bytes += part.length;
      if (bytes < megabytes * 1e6) parts.push(part);
    }
    await writeFile(join(folder, "large.md"), parts.join(""));
  });
}
await server.stop(true);
