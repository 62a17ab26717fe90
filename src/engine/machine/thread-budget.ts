/** How many threads the models may use. More busy threads than cores make llama.cpp several times slower. */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import {
  type ControlGroup,
  type ControlGroupPlaces,
  controlGroups,
  readText,
} from "./control-groups.ts";

export interface ThreadBudget {
  threads: number;
  reason: string;
}

export interface CoreSources {
  /** Default: those of the affinity mask. */
  cores?: number;
  /** Default: where the kernel shows control groups. */
  places?: ControlGroupPlaces;
}

export async function threadBudget(
  configured: number,
  { cores = availableParallelism(), places }: CoreSources = {},
): Promise<ThreadBudget> {
  const quota = await cpuQuota(places);
  const most = Math.max(1, Math.min(cores, Math.floor(quota)));
  const why =
    quota < cores ? `the cgroup allows ${quota} cores` : `the process may use ${cores} cores`;
  if (configured === 0) return { threads: most, reason: why };
  return configured > most
    ? { threads: most, reason: `${configured} configured, but ${why}` }
    : { threads: configured, reason: "configured" };
}

/** Cores that the strictest control group allows; Infinity where there is no limit. */
async function cpuQuota(places: ControlGroupPlaces | undefined): Promise<number> {
  const quotas = await Promise.all((await controlGroups("cpu", places)).map(quotaOf));
  return Math.min(...quotas, Number.POSITIVE_INFINITY);
}

async function quotaOf({ version, folder }: ControlGroup): Promise<number> {
  if (version === 2) return parseCpuMax((await readText(join(folder, "cpu.max"))) ?? "max");
  const [quota = "-1", period = ""] = await Promise.all([
    readText(join(folder, "cpu.cfs_quota_us")),
    readText(join(folder, "cpu.cfs_period_us")),
  ]);
  return parseCpuMax(`${quota} ${period}`);
}

/** `200000 100000` is two cores; `max 100000`, or -1 of version 1, is no bound. */
export function parseCpuMax(text: string): number {
  const [quota, period] = text.trim().split(/\s+/).map(Number);
  if (quota === undefined || period === undefined) return Number.POSITIVE_INFINITY;
  return quota > 0 && period > 0 ? quota / period : Number.POSITIVE_INFINITY;
}
