/** All rows of one chat model, on the node and on llama-server side by side. */
import { availableParallelism } from "node:os";
import type { ChatServer } from "../measuring/client.ts";
import type { Report } from "../measuring/report.ts";
import type { Floor } from "../servers/floor-process.ts";
import { chatArguments, startPeers } from "../servers/llama-server.ts";
import { type ChatModelSettings, chatModel, startNode } from "../servers/node-process.ts";
import { besideRow } from "./beside-row.ts";
import { type BusyRow, busyRow } from "./busy-row.ts";
import { type ChatBench, warmUp } from "./chat-bench.ts";
import { type ClientRows, clientRows } from "./client-rows.ts";
import { type LongPrompts, longPromptsRow } from "./long-prompts-row.ts";
import { secondTurnRows } from "./second-turn-rows.ts";
import { temperatureRow } from "./temperature-row.ts";

export const chatParts = ["clients", "beside", "long", "temperature", "turn", "busy"] as const;
export type ChatPart = (typeof chatParts)[number];

export interface ChatModelRows extends ChatModelSettings {
  report: Report;
  runs: number;
  name: string;
  path: string;
  parts: ReadonlySet<ChatPart>;
  clients: ClientRows;
  beside: { tokens: number; target: string };
  long: readonly LongPrompts[];
  temperature: { tokens: number };
  busy?: BusyRow;
  floor?: Floor;
  /** The folder of llama-server, and what it is told beside the slots. */
  peer?: { folder: string; arguments: readonly (string | number)[] };
  /** For the node's process. */
  environment?: Record<string, string>;
}

export async function chatModelRows(rows: ChatModelRows): Promise<void> {
  const { report, runs, name, path, parts, contextSize, slots, floor } = rows;
  if (parts.size === 0) return;
  await using node = await startNode(chatModel(path, rows), rows.environment);
  const [{ threads, why }] = node.threads();
  report.say(`${name}: ${threads} thread(s), ${why}`);
  report.note(
    `${name}: the node runs ${await node.engine()}, ${threads} thread(s), ${slots} slots`,
  );
  await floor?.ask({ kind: "load-chat", path, contextSize, sequences: slots, threads });
  await using stack = new AsyncDisposableStack();
  const peers =
    rows.peer &&
    stack.use(
      await startPeers({
        folder: rows.peer.folder,
        model: path,
        // It is given all cores, as the node is; the node may choose fewer for a step.
        threads: availableParallelism(),
        arguments: [...chatArguments(slots, contextSize), ...rows.peer.arguments],
      }),
    );
  const server: ChatServer = { baseUrl: node.baseUrl, model: "chat" };
  const servers = { node: server, ...peers?.servers };
  const bench: ChatBench = {
    ...{ report, runs, name, servers },
    ...(floor && { floor }),
    ...(await warmUp(report, servers, slots)),
  };
  if (parts.has("clients")) await clientRows(bench, rows.clients);
  if (parts.has("beside")) await besideRow(bench, rows.beside);
  for (const long of parts.has("long") ? rows.long : []) await longPromptsRow(bench, long);
  if (parts.has("temperature")) await temperatureRow(bench, rows.temperature);
  if (parts.has("turn")) await secondTurnRows(report, runs, server);
  if (parts.has("busy") && rows.busy !== undefined) await busyRow(bench, rows.busy);
  const [, ...later] = node.threads();
  if (later.length > 0) {
    const changes = later.map(({ threads: count, why: reason }) => `${count} (${reason})`);
    report.note(`${name}: the node's threads became ${changes.join(", then ")}`);
  }
}
