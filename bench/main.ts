/** `bun bench`: the node as a real process against llama-server and the floor, in the same run. See bench/README.md. */
import { availableParallelism, cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { chosenParts, commonOptions, count } from "./measuring/options.ts";
import { Report } from "./measuring/report.ts";
import { measured } from "./measuring/statistics.ts";
import { answersRow } from "./rows/answers-row.ts";
import { type ChatPart, chatModelRows, chatParts } from "./rows/chat-model-rows.ts";
import { embeddingRows } from "./rows/embedding-rows.ts";
import { firstStartRows } from "./rows/first-start-rows.ts";
import { isolationRows } from "./rows/isolation-rows.ts";
import { overheadRows } from "./rows/overhead-rows.ts";
import { benchModels } from "./servers/bench-models.ts";
import { startFloor } from "./servers/floor-process.ts";
import { startTimes } from "./servers/node-process.ts";
import { findPeer } from "./servers/peer-location.ts";

const { values: options } = parseArgs({
  options: { ...commonOptions, cpu: { type: "string", default: "haswell" } },
});
const runs = count("runs", options.runs);
const parts = chosenParts(
  [
    ...["small-clients", "small-beside", "small-long", "small-temperature"],
    ...["starter-clients", "starter-beside", "starter-long", "starter-temperature"],
    ...[
      "small-busy",
      "starter-busy",
      "starter-turn",
      "isolation",
      "embedding",
      "overhead",
      "answers",
    ],
    ...["first-start", "first-start-played"],
  ],
  options.only,
);
const partsOf = (model: string): Set<ChatPart> =>
  new Set(chatParts.filter((part) => parts.has(`${model}-${part}`)));

const report = new Report();
const threads = availableParallelism();
const [load = 0] = loadavg();
const machine = `${cpus()[0]?.model ?? "unknown CPU"}, ${threads} cores, load ${load.toFixed(2)} before the run`;
report.say(`${machine}; ${runs} runs each`);
const folder = await findPeer((text) => report.say(text));
const peer = folder === undefined ? {} : { peer: { folder, arguments: [] } };
const models = await benchModels(threads);
await using floor = await startFloor(threads);
const common = { report, runs, floor, contextSize: 2048, slots: 4, ...peer };

await chatModelRows({
  ...common,
  name: "25M model",
  path: models.small,
  parts: partsOf("small"),
  clients: {
    tokens: 64,
    targets: [
      [1, "0.95"],
      [4, "0.95"],
      [8, "0.95"],
    ],
  },
  beside: { tokens: 256, target: "1.2" },
  long: [{ clients: 4, promptTokens: 1800, target: "1.1" }],
  temperature: { tokens: 256 },
  busy: { tokens: 32 },
});
await chatModelRows({
  ...common,
  name: "Starter model",
  path: models.starter,
  parts: partsOf("starter"),
  clients: {
    tokens: 24,
    targets: [
      [1, "0.97"],
      [4, "1.0"],
      [8, "1.0"],
    ],
  },
  beside: { tokens: 64, target: "1.2" },
  long: [{ clients: 4, promptTokens: 1000, target: "1.1" }],
  temperature: { tokens: 64 },
  busy: { tokens: 12 },
});
if (parts.has("isolation")) {
  await isolationRows(report, runs, { name: "25M model", path: models.small, tokens: 64 });
  const target = "≥ 0.97 of the node's";
  await isolationRows(report, runs, {
    ...{ name: "Starter model", path: models.starter, tokens: 24, target },
  });
}
if (parts.has("embedding")) {
  await embeddingRows({
    ...{ report, runs, threads, floor, path: models.embedding, ...peer },
  });
}
if (parts.has("overhead")) await overheadRows(report, runs, models);
if (parts.has("answers")) await answersRow(report);
if (parts.has("first-start")) await firstStartRows(report, runs);
if (parts.has("first-start-played")) await firstStartRows(report, runs, options.cpu);
if (startTimes.length > 0) {
  report.add({
    work: "From start to a node that has all, models in place",
    unit: "ms",
    node: measured(startTimes),
  });
}
report.print(machine, { runs, json: options.json });
