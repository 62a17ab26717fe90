/** `bun bench`: the node as a real process against the floor measured in the same run. See README.md beside it. */
import { writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type ServingPaddock, servePaddock } from "../tests/support/paddock-process.ts";
import { memoryOf } from "../tests/support/process-tree.ts";
import { tempDir } from "../tests/support/temp-dir.ts";
import { type BenchModels, benchModels } from "./bench-models.ts";
import { type ChatServer, chat, chatRate, embeddingRate, post } from "./client.ts";
import { type Floor, startFloor } from "./floor-process.ts";
import { type Measured, measured, ratioOf } from "./statistics.ts";

const { values: options } = parseArgs({
  options: {
    runs: { type: "string", default: "5" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
    peer: { type: "string" },
    "peer-chat-model": { type: "string", default: "peer" },
    "peer-embedding-model": { type: "string", default: "peer" },
  },
});
const runs = Number(options.runs);
const threads = availableParallelism();

interface Row {
  work: string;
  unit: string;
  node: Measured;
  floor?: Measured;
  peer?: Measured;
  /** The node against the floor, or what the row says. */
  ratio?: Measured;
  target?: string;
}

const rows: Row[] = [];
const say = (text: string): void => void process.stderr.write(`${text}\n`);

const wants = (name: string): boolean => options.only === undefined || name.includes(options.only);

function add(row: Row): void {
  rows.push(row);
  const ratio = row.ratio === undefined ? "" : `  ratio ${row.ratio.median.toFixed(3)}`;
  say(`  ${row.work}: ${row.node.median.toFixed(1)} ${row.unit}${ratio}`);
}

/** Prompts that share nothing but the template, so that nobody profits from what was asked before. */
let asked = 0;
const prompts = (count: number): string[] =>
  Array.from({ length: count }, () => `Number ${++asked} ${asked * 7919}: tell a long story.`);

const words = (count: number, seed: number): string =>
  Array.from({ length: count }, (_, at) => `word${((seed * 31 + at * 17) % 997) + 1}`).join(" ");

async function withNode(
  config: string,
  use: (node: ServingPaddock, baseUrl: string) => Promise<void>,
  settings: Record<string, string> = {},
): Promise<void> {
  await using folder = await tempDir();
  await writeFile(join(folder.path, "paddock.toml"), config);
  const env = { PADDOCK_LOG_LEVEL: "info", ...settings };
  const startedAt = performance.now();
  await using node = await servePaddock({ cwd: folder.path, env });
  startTimes.push(performance.now() - startedAt);
  await use(node, `${node.origin}/v1`);
}

const startTimes: number[] = [];

const chatModel = (name: string, path: string): string =>
  `[[models]]\nname = "${name}"\ntype = "chat"\nsource = ${JSON.stringify(path)}\nctx_size = 2048\nquantization = "as-is"\n`;
const embeddingModel = (path: string): string =>
  `[[models]]\nname = "embedding"\ntype = "embedding"\nsource = ${JSON.stringify(path)}\n`;

/** The other server that is measured in the same run, if one was named. */
const peerServer = (model: string): ChatServer | undefined =>
  options.peer === undefined ? undefined : { baseUrl: options.peer, model };

async function chatRows(
  floor: Floor,
  { name, path, tokens, target }: { name: string; path: string; tokens: number; target: number },
): Promise<void> {
  await withNode(chatModel("chat", path), async (node, baseUrl) => {
    // The floor runs on as many threads as the node chose for this model.
    const line = /"threads":(\d+),"why":"([^"]*)","msg":"threads of a/.exec(node.stderr());
    const chosen = Number(line?.[1]);
    say(`  ${name}: ${chosen} thread(s), ${line?.[2]}`);
    await floor.ask({ kind: "load-chat", path, contextSize: 2048, sequences: 4, threads: chosen });
    const server: ChatServer = { baseUrl, model: "chat" };
    const peer = peerServer(options["peer-chat-model"]);
    await chatRate(server, prompts(4), tokens); // warm
    for (const clients of [1, 4, 8]) {
      const [ours, bare, theirs]: [number[], number[], number[]] = [[], [], []];
      for (let run = 0; run < runs; run++) {
        ours.push(await chatRate(server, prompts(clients), tokens));
        const { tokens: made, ms } = await floor.ask({
          kind: "chat",
          clients,
          tokens,
          prompts: prompts(clients),
        });
        bare.push((made / ms) * 1000);
        if (peer !== undefined) theirs.push(await chatRate(peer, prompts(clients), tokens));
      }
      add({
        work: `${name}, ${tokens} tokens, ${clients} client${clients > 1 ? "s" : ""}`,
        unit: "tok/s",
        node: measured(ours),
        floor: measured(bare),
        ...(peer === undefined ? {} : { peer: measured(theirs) }),
        ratio: ratioOf(ours, bare),
        target: `≥ ${target}`,
      });
    }
  });
}

/** What it costs that a model runs in a process of its own: two nodes take turns on the same weights. */
async function isolationRows({
  name,
  path,
  tokens,
  target,
}: {
  name: string;
  path: string;
  tokens: number;
  target?: string;
}): Promise<void> {
  const config = chatModel("chat", path);
  await withNode(config, async (_, apart) => {
    await withNode(
      config,
      async (_, together) => {
        const servers = [apart, together].map((baseUrl) => ({ baseUrl, model: "chat" }));
        for (const server of servers) await chatRate(server, prompts(4), tokens); // warm
        for (const clients of [1, 4]) {
          const rates: [number[], number[]] = [[], []];
          // Many short turns, each of them first in half of the pairs: the difference is smaller than noise.
          for (let run = 0; run < runs * 4; run++) {
            const turns = run % 2 === 0 ? servers : servers.toReversed();
            for (const server of turns) {
              const rate = await chatRate(server, prompts(clients), tokens);
              rates[servers.indexOf(server)]?.push(rate);
            }
          }
          add({
            work: `${name}, ${clients} client${clients > 1 ? "s" : ""}: a process of its own against the node's`,
            unit: "tok/s",
            node: measured(rates[0]),
            floor: measured(rates[1]),
            ratio: ratioOf(...rates),
            ...(target === undefined ? {} : { target }),
          });
        }
      },
      { PADDOCK_ISOLATION: "none" },
    );
  });
}

async function secondTurn({ starter }: BenchModels): Promise<void> {
  await withNode(chatModel("chat", starter), async (_, baseUrl) => {
    const server: ChatServer = { baseUrl, model: "chat" };
    const [cold, warm]: [number[], number[]] = [[], []];
    for (let run = 0; run < Math.max(3, Math.ceil(runs / 2)); run++) {
      const content = `${++asked} ${words(300, asked)} In one sentence, what is this?`;
      const first = await chat(server, [{ role: "user", content }], 8);
      const second = await chat(
        server,
        [
          { role: "user", content },
          { role: "assistant", content: first.text },
          { role: "user", content: "And why?" },
        ],
        8,
      );
      cold.push(first.firstMs);
      warm.push(second.firstMs);
    }
    add({ work: "Time to first token, 1,000-token prompt", unit: "ms", node: measured(cold) });
    add({
      work: "… second turn of that conversation",
      unit: "ms",
      node: measured(warm),
      ratio: ratioOf(warm, cold),
      target: "≤ 0.10 of the first",
    });
  });
}

async function embeddingRows(floor: Floor, { embedding }: BenchModels): Promise<void> {
  await floor.ask({ kind: "load-embedding", path: embedding });
  await withNode(embeddingModel(embedding), async (_, baseUrl) => {
    const server: ChatServer = { baseUrl, model: "embedding" };
    const peer = peerServer(options["peer-embedding-model"]);
    const cases = [
      { work: "8 words, 1 text a request", length: 8, count: 64, perRequest: 1, clients: 1 },
      { work: "8 words, 32 texts a request", length: 8, count: 256, perRequest: 32, clients: 1 },
      { work: "8 words, 8 clients with 1 text", length: 8, count: 256, perRequest: 1, clients: 8 },
      { work: "100 words, 32 texts a request", length: 100, count: 64, perRequest: 32, clients: 1 },
    ];
    for (const { work, length, count, perRequest, clients } of cases) {
      const [ours, bare, theirs]: [number[], number[], number[]] = [[], [], []];
      for (let run = 0; run <= runs; run++) {
        const texts = Array.from({ length: count }, (_, at) => words(length, run * count + at));
        const rate = await embeddingRate(server, texts, { perRequest, clients });
        const { tokens, ms } = await floor.ask({ kind: "embed", texts });
        const peerRate =
          peer === undefined
            ? undefined
            : await embeddingRate(peer, texts, { perRequest, clients });
        if (run === 0) continue; // warm
        if (peerRate !== undefined) theirs.push(peerRate);
        ours.push(rate);
        bare.push((tokens / ms) * 1000);
      }
      add({
        work: `Embeddings, ${work}`,
        unit: "texts/s",
        node: measured(ours),
        floor: measured(bare),
        ...(peer === undefined ? {} : { peer: measured(theirs) }),
        ratio: ratioOf(ours, bare),
        ...(perRequest === 32 ? { target: "≥ 0.95" } : {}),
      });
    }
    const messages = [{ role: "user", content: "How do I add an API key?" }];
    const retrieve = await times(20 * runs, async () => {
      await (await post(`${baseUrl}/retrieve`, { model: "embedding", messages })).text();
    });
    add({ work: "/retrieve, from the handbook", unit: "ms", node: measured(retrieve) });
  });
}

async function overheadRows({ small, embedding }: BenchModels): Promise<void> {
  await withNode(chatModel("chat", small) + embeddingModel(embedding), async (node, baseUrl) => {
    const rates: number[] = [];
    for (let run = 0; run < runs; run++) {
      const startedAt = performance.now();
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let at = 0; at < 250; at++) await (await fetch(`${baseUrl}/models`)).text();
        }),
      );
      rates.push(2000 / ((performance.now() - startedAt) / 1000));
    }
    add({ work: "/models, 8 clients", unit: "requests/s", node: measured(rates) });

    const server: ChatServer = { baseUrl, model: "chat" };
    const embedder: ChatServer = { baseUrl, model: "embedding" };
    const memory = async (): Promise<number> => (await memoryOf(node.process.pid)) / 1e6;
    const rest = await memory();
    const work = async (chats: number, texts: number): Promise<number> => {
      for (let done = 0; done < chats; done += 4) await chatRate(server, prompts(4), 8);
      const inputs = Array.from({ length: texts }, (_, at) => words(8, at));
      await embeddingRate(embedder, inputs, { perRequest: 32, clients: 1 });
      return await memory();
    };
    const early = await work(100, 1000);
    const late = await work(900, 9000);
    add({ work: "Memory at rest, 25M model and MiniLM", unit: "MB", node: measured([rest]) });
    add({
      work: "Memory after 1,000 chats and 10,000 embeddings",
      unit: "MB",
      node: measured([late]),
      ratio: measured([late / early]),
      target: "≤ 1.10 of after 100 and 1,000",
    });
  });
}

async function times(count: number, work: () => Promise<void>): Promise<number[]> {
  const taken: number[] = [];
  for (let at = 0; at < count; at++) {
    const startedAt = performance.now();
    await work();
    taken.push(performance.now() - startedAt);
  }
  return taken;
}

function table(): string {
  const number = ({ median, low, high }: Measured): string => {
    const digits = median < 10 ? 2 : median < 100 ? 1 : 0;
    const [m, l, h] = [median, low, high].map((value) => value.toFixed(digits));
    return low === high ? `${m}` : `${m} (${l}–${h})`;
  };
  const cell = (value: Measured | undefined): string => (value === undefined ? "" : number(value));
  const ratio = (value: Measured | undefined): string =>
    value === undefined
      ? ""
      : `${value.median.toFixed(3)} (${value.low.toFixed(2)}–${value.high.toFixed(2)})`;
  return [
    `| Work | Node | Floor |${options.peer ? " Peer |" : ""} Ratio | Target |`,
    `|---|---|---|${options.peer ? "---|" : ""}---|---|`,
    ...rows.map(
      (row) =>
        `| ${row.work} | ${number(row.node)} ${row.unit} | ${cell(row.floor)} |${
          options.peer ? ` ${cell(row.peer)} |` : ""
        } ${ratio(row.ratio)} | ${row.target ?? ""} |`,
    ),
  ].join("\n");
}

const [load = 0] = loadavg();
const machine = `${cpus()[0]?.model ?? "unknown CPU"}, ${threads} cores, load ${load.toFixed(2)} before the run`;
say(`${machine}; ${runs} runs each`);
const models = await benchModels(threads);
await using floor = await startFloor(threads);
if (wants("small")) {
  await chatRows(floor, { name: "25M model", path: models.small, tokens: 64, target: 0.9 });
}
if (wants("starter")) {
  await chatRows(floor, { name: "Starter model", path: models.starter, tokens: 24, target: 0.97 });
}
if (wants("isolation")) {
  await isolationRows({ name: "25M model", path: models.small, tokens: 64 });
  await isolationRows({
    name: "Starter model",
    path: models.starter,
    tokens: 24,
    target: "≥ 0.97 of the node's",
  });
}
if (wants("turn")) await secondTurn(models);
if (wants("embedding")) await embeddingRows(floor, models);
if (wants("overhead")) await overheadRows(models);
add({
  work: "From start to the listening line, models in place",
  unit: "ms",
  node: measured(startTimes),
});

const date = new Date().toISOString().slice(0, 10);
process.stdout.write(
  options.json
    ? `${JSON.stringify({ date, machine, runs, rows }, null, 2)}\n`
    : `${date}, ${machine}\n\n${table()}\n`,
);
