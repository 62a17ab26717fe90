/** `bun bench:front`: what a node costs in front of servers that have the model, and what it carries. See bench/README.md. */
import { availableParallelism, cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import type { ChatServer } from "../measuring/client.ts";
import { chosenParts, commonOptions, count } from "../measuring/options.ts";
import { Report } from "../measuring/report.ts";
import { benchModels } from "../servers/bench-models.ts";
import { chatArguments, startLlamaServer } from "../servers/llama-server.ts";
import { chatModel, startNode } from "../servers/node-process.ts";
import { findPeer } from "../servers/peer-location.ts";
import { burstRow, frontCostRows } from "./front-cost-rows.ts";
import { startFront } from "./front-node.ts";
import { heldRow } from "./held-row.ts";
import { replicaRows } from "./replica-rows.ts";
import { replicaTurnRows } from "./replica-turn-rows.ts";
import { startSleeping } from "./sleeping-upstream.ts";

const { values: options } = parseArgs({
  options: { ...commonOptions, streams: { type: "string", default: "1000" } },
});
const runs = count("runs", options.runs);
const held = count("streams", options.streams);
const parts = chosenParts(
  ["cost-sleeping", "cost-node", "cost-llama-server", "cost-starter", "held", "replicas", "turns"],
  options.only,
);

const report = new Report();
const threads = availableParallelism();
const [load = 0] = loadavg();
const machine = `${cpus()[0]?.model ?? "unknown CPU"}, ${threads} cores, load ${load.toFixed(2)} before the run`;
report.say(`${machine}; ${runs} runs each`);

const eightSlots = { contextSize: 2048, slots: 8 };

/** Of models that compute, on the same cores as the node in front of them. */
async function computedCost(name: string, server: ChatServer, isFast: boolean): Promise<void> {
  await using front = await startFront([server]);
  await frontCostRows({
    ...{ report, runs, name, front, server, streams: [1, 8] },
    ...(isFast
      ? { asked: { answers: 4, tokens: 64, spreadMs: 100 } }
      : { asked: { answers: 1, tokens: 24, spreadMs: 500 }, before: 4 }),
  });
}

async function llamaServerCost(name: string, model: string, isFast: boolean): Promise<void> {
  const folder = await findPeer((text) => report.say(text));
  if (folder === undefined) return;
  await using server = await startLlamaServer({
    ...{ folder, threads, model },
    arguments: chatArguments(eightSlots.slots, eightSlots.contextSize),
  });
  await computedCost(`${name} on llama-server`, server, isFast);
}

if (parts.has("cost-sleeping")) {
  await using server = await startSleeping({
    ...{ tokensPerSecond: 50, firstTokenMs: 200, atOnce: 1000 },
  });
  await using front = await startFront([server]);
  const cost = {
    ...{ report, runs, front, server, name: "Sleeping server, 50 tok/s a stream" },
    asked: { answers: 2, tokens: 100, spreadMs: 2000 },
    streams: [1, 8, 64],
  };
  await frontCostRows(cost);
  await burstRow(cost, 64);
}
const models = await benchModels(threads);
if (parts.has("cost-node")) {
  await using node = await startNode(chatModel(models.small, eightSlots));
  const server = { baseUrl: node.baseUrl, model: "chat" };
  await computedCost("25M model on another node", server, true);
}
if (parts.has("cost-llama-server")) await llamaServerCost("25M model", models.small, true);
if (parts.has("cost-starter")) await llamaServerCost("Starter model", models.starter, false);
if (parts.has("held")) await heldRow(report, held);
if (parts.has("replicas")) await replicaRows(report, runs);
if (parts.has("turns")) await replicaTurnRows(report, runs, models.small);
report.print(machine, { runs, json: options.json });
