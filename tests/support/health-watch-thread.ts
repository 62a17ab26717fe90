/** The thread of health-watch.ts: told an address and a process first, then asked for the slowest answer. */
import { readFileSync } from "node:fs";

declare const self: Worker;

const pauseMs = 10;
let slowest = 0;
/** How long the question that is not answered yet has been open. */
let open = (): number => 0;

self.onmessage = ({ data }) => {
  if (data !== "slowest") {
    void watch(data);
    self.postMessage(0);
    return;
  }
  self.postMessage(Math.max(slowest, open()));
  slowest = 0;
};

async function watch({ origin, pid }: { origin: string; pid?: number }): Promise<never> {
  for (;;) {
    const [asked, computed] = [performance.now(), computedMs(pid)];
    open = () => Math.min(performance.now() - asked, computedMs(pid) - computed);
    const response = await fetch(`${origin}/health`);
    await response.arrayBuffer();
    slowest = Math.max(slowest, open());
    open = () => 0;
    await Bun.sleep(pauseMs);
  }
}

/** What the main thread of a process has computed, in milliseconds; by the clock where nobody says. */
function computedMs(pid: number | undefined): number {
  try {
    const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, "utf8");
    // After the name, which may hold anything: 14 and 15 are its ticks, a hundred in a second.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return performance.now();
  }
}
