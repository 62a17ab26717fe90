/** How much memory the process may have: the machine's, or less where a control group says so. */
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

/** The machine as a control group lets it be seen; its files' texts, where they are there. */
export function withBound(machine: Machine, { most, used, statistics }: Bound): Machine {
  // `max` is no bound, and the largest number, which version 1 writes for it, is more than any machine has.
  const bound = Number(most?.trim() || Number.NaN);
  if (!Number.isFinite(bound)) return machine;
  // Files that the kernel keeps in memory only as long as there is room count as used, but are not needed.
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

/** What could be had without swapping, in bytes. */
export function parseMemAvailable(meminfo: string): number | undefined {
  const kibibytes = /^MemAvailable:\s+(\d+) kB$/m.exec(meminfo)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}
