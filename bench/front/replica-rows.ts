/** Three replicas against one, with servers that sleep: what routing makes of them, since two cores cannot compute for three. */

import type { Report } from "../measuring/report.ts";
import { measured, ratioOf } from "../measuring/statistics.ts";
import { takeTurns } from "../measuring/turns.ts";
import { startFront } from "./front-node.ts";
import { startSleeping } from "./sleeping-upstream.ts";
import { spreadChats } from "./spread-chats.ts";

/** A replica answers so many at once; the others wait. */
const pace = { tokensPerSecond: 50, firstTokenMs: 200, atOnce: 8 };
/** Twice as many as three replicas answer at once. */
const asked = { clients: 48, answers: 6, tokens: 30, spreadMs: 200 };

export async function replicaRows(report: Report, runs: number): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const servers = await Promise.all([pace, pace, pace].map(startSleeping));
  for (const server of servers) stack.use(server);
  const three = stack.use(await startFront(servers));
  const one = stack.use(await startFront(servers.slice(0, 1)));
  const { node, floor = [] } = await takeTurns({
    contenders: { node: three, floor: one },
    runs,
    prepare: () => undefined,
    measure: async (front) => (await spreadChats(front, asked)).rate,
  });
  report.add({
    work: `Three sleeping replicas of ${pace.atOnce} at once, ${asked.clients} clients, against one`,
    unit: "tok/s",
    node: measured(node),
    ratio: ratioOf(node, floor),
    target: "≥ 2.5",
    floor: measured(floor),
  });
}
