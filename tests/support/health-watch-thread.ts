/** The thread of health-watch.ts: told a node first, then asked for what it saw. */
import type { HealthSeen } from "./health-watch.ts";
import { mainThreadCpuMs } from "./process-tree.ts";

declare const self: Worker;

const pauseMs = 10;
let node: { origin: string; pid: number };
let answers = 0;
let longestMs = 0;
/** What the node had used at the last answer. */
let usedMs: number | undefined;

self.onmessage = async ({ data }) => {
  if (data !== "seen") {
    node = data;
    await ask();
    void watch();
  }
  look();
  self.postMessage({
    answers,
    longestMs: usedMs === undefined ? undefined : longestMs,
  } satisfies HealthSeen);
  answers = longestMs = 0;
};

async function watch(): Promise<never> {
  for (;;) {
    await ask();
    answers++;
    look();
    usedMs = mainThreadCpuMs(node.pid);
    await Bun.sleep(pauseMs);
  }
}

async function ask(): Promise<void> {
  const response = await fetch(`${node.origin}/health`);
  await response.arrayBuffer();
}

/** Counts what was used since the last answer, also while the next is not there yet. */
function look(): void {
  const now = mainThreadCpuMs(node.pid);
  if (now !== undefined && usedMs !== undefined) longestMs = Math.max(longestMs, now - usedMs);
}
