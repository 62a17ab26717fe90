/** What a front costs: a server is asked through a node, and by itself, in turns. */
import type { ChatServer } from "../measuring/client.ts";
import type { Report } from "../measuring/report.ts";
import { measured, ratioOf } from "../measuring/statistics.ts";
import { takeTurns } from "../measuring/turns.ts";
import type { Front } from "./front-node.ts";
import { cpuSeconds } from "./process-times.ts";
import { type SpreadChats, spreadChats } from "./spread-chats.ts";

export interface FrontCost {
  report: Report;
  runs: number;
  /** As the rows call it. */
  name: string;
  front: Front;
  server: ChatServer;
  /** What is asked in a run, besides by how many. */
  asked: Omit<SpreadChats, "clients">;
  /** How many at the same time. */
  streams: readonly number[];
  /** How often each of 8 clients asks the node before anything is measured; fewer where answers take long. */
  before?: number;
}

export async function frontCostRows(cost: FrontCost): Promise<void> {
  await warmUp(cost);
  for (const clients of cost.streams) {
    const name = `${cost.name}, ${clients} stream${clients > 1 ? "s" : ""}`;
    const { rates, firsts, cpu } = await inTurns(cost, { ...cost.asked, clients });
    const { report } = cost;
    const row = (work: string, unit: string, target: string, [ours, theirs]: Pair) =>
      report.add({
        ...{ work, unit, target },
        node: measured(ours),
        ratio: ratioOf(ours, theirs),
        floor: measured(theirs),
      });
    row(`${name}: through a node against by itself`, "tok/s", "≥ 0.97", rates);
    row("… median first token", "ms", "≤ 1.05", firsts);
    report.add({
      work: "… processor time of the node for a token",
      unit: "µs",
      node: measured(cpu),
    });
  }
}

/** All at the same moment, each once: how long the first tokens take that stand in a line. */
export async function burstRow(cost: FrontCost, clients: number): Promise<void> {
  const asked = { clients, answers: 1, tokens: 8, spreadMs: 0 };
  const { firsts } = await inTurns(cost, asked);
  cost.report.add({
    work: `${cost.name}, ${clients} that begin at the same moment: median first token through a node against by itself`,
    unit: "ms",
    node: measured(firsts[0]),
    ratio: ratioOf(...firsts),
    floor: measured(firsts[1]),
  });
}

type Pair = readonly [front: readonly number[], server: readonly number[]];

async function inTurns(
  { runs, front, server }: FrontCost,
  asked: SpreadChats,
): Promise<{ rates: Pair; firsts: Pair; cpu: number[] }> {
  const firsts: [number[], number[]] = [[], []];
  const cpu: number[] = [];
  const { node, floor = [] } = await takeTurns<ChatServer, undefined>({
    contenders: { node: front, floor: server },
    runs,
    prepare: () => undefined,
    async measure(contender) {
      const before = cpuSeconds(front.pid);
      const { rate, answers } = await spreadChats(contender, asked);
      const first = measured(answers.map(({ firstMs }) => firstMs)).median;
      firsts[contender === front ? 0 : 1].push(first);
      const tokens = answers.reduce((sum, answer) => sum + answer.tokens, 0);
      if (contender === front) cpu.push(((cpuSeconds(front.pid) - before) / tokens) * 1e6);
      return rate;
    },
  });
  return { rates: [node, floor], firsts, cpu };
}

/** A node that has served for a minute has compiled what it runs; one that was just started has not. */
async function warmUp({ front, server, before = 40 }: FrontCost): Promise<void> {
  const asked = { clients: 8, tokens: 8, spreadMs: 0 };
  await spreadChats(server, { ...asked, answers: 2 });
  await spreadChats(front, { ...asked, answers: before });
}
