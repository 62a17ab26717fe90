/** What it costs that a model runs in a process of its own: two nodes take turns on the same weights. */
import { type ChatServer, chatRate } from "../measuring/client.ts";
import { stories } from "../measuring/prompts.ts";
import type { Report } from "../measuring/report.ts";
import { measured, ratioOf } from "../measuring/statistics.ts";
import { takeTurns } from "../measuring/turns.ts";
import { chatModel, startNode } from "../servers/node-process.ts";

/** Pairs a run: the difference is smaller than the noise of one. */
const pairs = 4;

export interface IsolatedModel {
  name: string;
  path: string;
  tokens: number;
  target?: string;
}

export async function isolationRows(
  report: Report,
  runs: number,
  { name, path, tokens, target }: IsolatedModel,
): Promise<void> {
  const config = chatModel(path, { contextSize: 2048, slots: 4 });
  await using apart = await startNode(config);
  await using together = await startNode(config, { PADDOCK_ISOLATION: "none" });
  const own: ChatServer = { baseUrl: apart.baseUrl, model: "chat" };
  const shared: ChatServer = { baseUrl: together.baseUrl, model: "chat" };
  for (const server of [own, shared]) await chatRate(server, stories(4), tokens); // warm
  for (const clients of [1, 4]) {
    const { node, floor = [] } = await takeTurns({
      contenders: { node: own, floor: shared },
      runs: runs * pairs,
      prepare: () => stories(clients),
      measure: async (server, prompts) => (await chatRate(server, prompts, tokens)).rate,
    });
    report.add({
      work: `${name}, ${clients} client${clients > 1 ? "s" : ""}: a process of its own against the node's`,
      unit: "tok/s",
      node: measured(node),
      ratio: ratioOf(node, floor),
      ...(target === undefined ? {} : { target }),
      floor: measured(floor),
    });
  }
}
