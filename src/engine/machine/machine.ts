/** The machine as this process may use it: its memory and its cores, within the limits of control groups. */
import { readFile } from "node:fs/promises";
import { availableParallelism, freemem, totalmem } from "node:os";
import { dirname, join, posix } from "node:path";

export interface Machine {
  /** Bytes that the process may use: the machine's memory, or the limit of a control group. */
  memory: number;
  /** Bytes of it that are free now. */
  availableMemory: number;
  memoryBound: "machine" | "control group";
  /** The memory of the accelerator, if the engine can use one. */
  accelerator?: { memory: number; availableMemory: number };
}

export function withinLimit(machine: Machine, limit: number | undefined): Machine {
  const most = limit ?? Number.POSITIVE_INFINITY;
  return {
    ...machine,
    memory: Math.min(machine.memory, most),
    availableMemory: Math.min(machine.availableMemory, most),
  };
}

export async function readMachineMemory(places?: ControlGroupPlaces): Promise<Machine> {
  const total = totalmem();
  const free = parseMemAvailable((await readText("/proc/meminfo")) ?? "") ?? freemem();
  let machine: Machine = { memory: total, availableMemory: free, memoryBound: "machine" };
  for (const { version, folder } of await controlGroups("memory", places)) {
    const { most, used } = boundFiles[version];
    const [bound, inUse, statistics] = await Promise.all([
      readText(join(folder, most)),
      readText(join(folder, used)),
      readText(join(folder, "memory.stat")),
    ]);
    machine = withBound(machine, { most: bound, used: inUse, statistics });
  }
  return machine;
}

const boundFiles = {
  1: { most: "memory.limit_in_bytes", used: "memory.usage_in_bytes" },
  2: { most: "memory.max", used: "memory.current" },
} as const;

/** The machine within the limit of a control group, from the text of the group's files. */
export function withBound(
  machine: Machine,
  { most, used, statistics }: Record<"most" | "used" | "statistics", string | undefined>,
): Machine {
  // `max` is not a number, so no limit. Version 1 writes a huge number for it instead, above any machine's memory.
  const bound = Number(most?.trim() || Number.NaN);
  if (!Number.isFinite(bound)) return machine;
  // The page cache counts as used, but the kernel drops its inactive files when memory is needed.
  // In version 1 the line with `total_` counts the groups below too, as the usage does.
  const cached = Number(
    (/^total_inactive_file (\d+)$/m.exec(statistics ?? "") ??
      /^inactive_file (\d+)$/m.exec(statistics ?? ""))?.[1] ?? 0,
  );
  const inUse = Math.max(0, Number(used?.trim() ?? 0) - cached);
  return {
    ...machine,
    ...(bound < machine.memory ? { memory: bound, memoryBound: "control group" } : {}),
    availableMemory: Math.min(machine.availableMemory, Math.max(0, bound - inUse)),
  };
}

export function parseMemAvailable(meminfo: string): number | undefined {
  const kibibytes = /^MemAvailable:\s+(\d+) kB$/m.exec(meminfo)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** How many threads the models may use. More busy threads than cores make llama.cpp several times slower. */
export async function threadBudget(
  configured: number,
  { cores = availableParallelism(), places }: { cores?: number; places?: ControlGroupPlaces } = {},
): Promise<{ threads: number; reason: string }> {
  const quota = await cpuQuota(places);
  const most = Math.max(1, Math.min(cores, Math.floor(quota)));
  const why =
    quota < cores ? `the cgroup allows ${quota} cores` : `the process may use ${cores} cores`;
  if (configured === 0) return { threads: most, reason: why };
  return configured > most
    ? { threads: most, reason: `${configured} configured, but ${why}` }
    : { threads: configured, reason: "configured" };
}

/** Cores that the strictest control group allows; Infinity without a limit. */
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

export interface ControlGroupPlaces {
  membership: string;
  mount: string;
}

const kernelPlaces: ControlGroupPlaces = {
  membership: "/proc/self/cgroup",
  mount: "/sys/fs/cgroup",
};

export interface ControlGroup {
  version: 1 | 2;
  folder: string;
}

const readText = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").catch(() => undefined);

/** The groups that limit a resource, the process's own first. */
async function controlGroups(
  controller: "cpu" | "memory",
  { membership, mount }: ControlGroupPlaces = kernelPlaces,
): Promise<ControlGroup[]> {
  return groupsIn((await readText(membership)) ?? "", controller, mount);
}

/** From the text of `/proc/self/cgroup`. Groups outside of a container have no folder; the walk up goes on past them. */
export function groupsIn(
  text: string,
  controller: "cpu" | "memory",
  mount: string,
): ControlGroup[] {
  const groups: ControlGroup[] = [];
  for (const line of text.split("\n")) {
    const [, hierarchy, names = "", path = ""] = /^(\d+):([^:]*):(\/.*)$/.exec(line) ?? [];
    if (hierarchy === undefined) continue;
    if (hierarchy === "0" && names === "") {
      // On a hybrid system version 2 is mounted at `unified`; files that are missing there limit nothing.
      for (const root of [mount, join(mount, "unified")]) groups.push(...upFrom(root, path, 2));
    } else if (names.split(",").includes(controller)) {
      // `cpu,cpuacct` is mounted under its whole name, or under one that links to it.
      for (const name of new Set([names, controller])) {
        groups.push(...upFrom(join(mount, name), path, 1));
      }
    }
  }
  return groups.length > 0 ? groups : [{ version: 2, folder: mount }];
}

function upFrom(root: string, own: string, version: 1 | 2): ControlGroup[] {
  const groups: ControlGroup[] = [];
  for (let path = posix.normalize(own); ; path = dirname(path)) {
    groups.push({ version, folder: join(root, path === "/" ? "" : path) });
    if (path === dirname(path)) return groups;
  }
}
