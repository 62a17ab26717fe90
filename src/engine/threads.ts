/** How many threads the models may use: more busy threads than cores costs llama.cpp a factor, not a few percent. */
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";

export interface ThreadBudget {
  threads: number;
  reason: string;
}

export async function threadBudget(configured: number): Promise<ThreadBudget> {
  const cores = availableParallelism(); // counts the affinity mask
  const quota = await cgroupQuota();
  const most = Math.max(1, Math.min(cores, Math.floor(quota)));
  const why =
    quota < cores ? `the cgroup allows ${quota} cores` : `the process may use ${cores} cores`;
  if (configured === 0) return { threads: most, reason: why };
  return configured > most
    ? { threads: most, reason: `${configured} configured, but ${why}` }
    : { threads: configured, reason: "configured" };
}

/** Cores that the control group grants; Infinity where there is no bound. */
async function cgroupQuota(): Promise<number> {
  const text = await readFile("/sys/fs/cgroup/cpu.max", "utf8").catch(() => "max");
  return parseCpuMax(text);
}

/** `200000 100000` is two cores; `max 100000` is no bound. */
export function parseCpuMax(text: string): number {
  const [quota, period] = text.trim().split(/\s+/).map(Number);
  if (quota === undefined || period === undefined) return Number.POSITIVE_INFINITY;
  return quota > 0 && period > 0 ? quota / period : Number.POSITIVE_INFINITY;
}
