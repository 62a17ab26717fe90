/** How many streams a front holds at once, and the memory that each takes. */
import { memoryOf } from "../../tests/support/process-tree.ts";
import type { Report } from "../measuring/report.ts";
import { measured } from "../measuring/statistics.ts";
import { startFront } from "./front-node.ts";
import { holdStreams } from "./held-streams.ts";
import { startSleeping } from "./sleeping-upstream.ts";
import { spreadChats } from "./spread-chats.ts";

/** Tokens that every stream must have had, at one a second, before memory is looked at. */
const tokensEach = 10;
/** How long memory may take to come back once the streams are gone. */
const settleMs = 20_000;

export async function heldRow(report: Report, count: number): Promise<void> {
  const slow = { tokensPerSecond: 1, firstTokenMs: 200, atOnce: 10_000 };
  await using server = await startSleeping(slow);
  await using front = await startFront([server]);
  const memory = async (): Promise<number> => (await memoryOf(front.pid)) / 1e6;
  await spreadChats(front, { clients: 64, answers: 4, tokens: 1, spreadMs: 0 });
  const before = await memory();
  let at: number;
  let openedMs: number;
  {
    const startedAt = performance.now();
    using streams = await holdStreams(front, count);
    await streams.reached(1);
    openedMs = performance.now() - startedAt;
    await streams.reached(tokensEach);
    at = await memory();
  }
  await Bun.sleep(settleMs);
  const after = await memory();
  const held = `${count} streams held at once by a front`;
  const row = (work: string, unit: string, value: number, target?: string) =>
    report.add({ work, unit, node: measured([value]), ...(target && { target }) });
  row(`${held}, until each has its first token`, "ms", openedMs);
  row("… memory before", "MB", before);
  row("… memory while they are held", "MB", at);
  row("… memory a stream", "kB", ((at - before) / count) * 1000);
  row(`… memory ${settleMs / 1000} s after they are gone`, "MB", after);
}
