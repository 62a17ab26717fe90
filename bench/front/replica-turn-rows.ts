/** Second turns against first ones with three real replicas, as with one: whether a conversation meets what is cached of it. */
import { type ChatServer, chat } from "../measuring/client.ts";
import { texts } from "../measuring/prompts.ts";
import type { Report } from "../measuring/report.ts";
import { measured, ratioOf } from "../measuring/statistics.ts";
import { takeTurns } from "../measuring/turns.ts";
import { chatModel, startNode } from "../servers/node-process.ts";
import { startFront } from "./front-node.ts";

/** Conversations of a run, one after another. */
const conversations = 4;
/** The 25M model reads letter by letter: about 900 tokens. */
const promptWords = 100;

export async function replicaTurnRows(report: Report, runs: number, path: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const servers: ChatServer[] = [];
  for (let at = 0; at < 3; at++) {
    const node = stack.use(await startNode(chatModel(path, { contextSize: 2048, slots: 4 })));
    servers.push({ baseUrl: node.baseUrl, model: "chat" });
  }
  const three = stack.use(await startFront(servers));
  const one = stack.use(await startFront(servers.slice(0, 1)));
  const shares = new Map<ChatServer, number[]>([three, one].map((front) => [front, []]));
  for (const front of [three, one]) await turnRatio(front, shares);
  for (const share of shares.values()) share.length = 0;
  const { node, floor = [] } = await takeTurns({
    contenders: { node: three, floor: one },
    runs,
    prepare: () => undefined,
    measure: (front) => turnRatio(front, shares),
  });
  report.add({
    work: "25M model, first token of a second turn to that of the first: 3 replicas against 1",
    unit: "of the first",
    node: measured(node),
    ratio: ratioOf(node, floor),
    target: "≤ 1.1",
    floor: measured(floor),
  });
  const [ours, theirs] = [shares.get(three) ?? [], shares.get(one) ?? []];
  report.add({
    work: "… part of a second turn's prompt that was cached",
    unit: "of its tokens",
    node: measured(ours),
    ratio: ratioOf(ours, theirs),
    target: "≥ 0.97",
    floor: measured(theirs),
  });
}

/** The median of a run's conversations; also notes what was cached. */
async function turnRatio(front: ChatServer, shares: Map<ChatServer, number[]>): Promise<number> {
  const ratios: number[] = [];
  const cached: number[] = [];
  for (const content of texts(conversations, promptWords)) {
    const first = await chat(front, content, { maxTokens: 8 });
    const second = await chat(
      front,
      [
        { role: "user", content },
        { role: "assistant", content: first.text },
        { role: "user", content: "And why?" },
      ],
      { maxTokens: 8 },
    );
    ratios.push(second.firstMs / first.firstMs);
    cached.push(second.cachedTokens / second.promptTokens);
  }
  shares.get(front)?.push(measured(cached).median);
  return measured(ratios).median;
}
