/** How much memory the process may use: the machine's, or less where a control group limits it. */
import { freemem, totalmem } from "node:os";
import { join } from "node:path";
import { type ControlGroupPlaces, controlGroups, readText } from "./control-groups.ts";
import type { Machine } from "./machine.ts";

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

interface Bound {
  most: string | undefined;
  used: string | undefined;
  statistics: string | undefined;
}

/** The machine within the limit of a control group, of which the texts of its files are given. */
export function withBound(machine: Machine, { most, used, statistics }: Bound): Machine {
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

/** Bytes that could be allocated without swapping. */
export function parseMemAvailable(meminfo: string): number | undefined {
  const kibibytes = /^MemAvailable:\s+(\d+) kB$/m.exec(meminfo)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}
