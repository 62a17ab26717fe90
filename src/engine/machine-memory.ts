/** How much memory the process may have: the machine's, or less where a control group says so. */
import { readFile } from "node:fs/promises";
import { freemem, totalmem } from "node:os";
import { dirname, join } from "node:path";
import type { Machine } from "../core/machine.ts";

const read = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").catch(() => undefined);

export async function readMachineMemory(): Promise<Machine> {
  const total = totalmem();
  const free = parseMemAvailable((await read("/proc/meminfo")) ?? "") ?? freemem();
  let machine: Machine = { memory: total, availableMemory: free, memoryBound: "machine" };
  for (const folder of cgroupFolders((await read("/proc/self/cgroup")) ?? "")) {
    const [most, used, statistics] = await Promise.all([
      read(join(folder, "memory.max")),
      read(join(folder, "memory.current")),
      read(join(folder, "memory.stat")),
    ]);
    machine = withBound(machine, { most, used, statistics });
  }
  return machine;
}

interface Bound {
  most: string | undefined;
  used: string | undefined;
  statistics: string | undefined;
}

/** The machine as a control group lets it be seen; its files' texts, where they are there. */
export function withBound(machine: Machine, { most, used, statistics }: Bound): Machine {
  const bound = Number(most?.trim() || Number.NaN); // `max` is no bound
  if (!Number.isFinite(bound)) return machine;
  // Files that the kernel keeps in memory only as long as there is room count as used, but are not needed.
  const cached = Number(/^inactive_file (\d+)$/m.exec(statistics ?? "")?.[1] ?? 0);
  const inUse = Math.max(0, Number(used?.trim() ?? 0) - cached);
  return {
    ...machine,
    ...(bound < machine.memory ? { memory: bound, memoryBound: "control group" } : {}),
    availableMemory: Math.min(machine.availableMemory, Math.max(0, bound - inUse)),
  };
}

/** The control group's own folder, and those above it: each may set a bound. */
export function cgroupFolders(text: string): string[] {
  const own = /^0::(\/.*)$/m.exec(text)?.[1];
  const folders: string[] = [];
  for (let path = own ?? "/"; ; path = dirname(path)) {
    folders.push(`/sys/fs/cgroup${path === "/" ? "" : path}`);
    if (path === dirname(path)) return folders;
  }
}

/** What could be had without swapping, in bytes. */
export function parseMemAvailable(meminfo: string): number | undefined {
  const kibibytes = /^MemAvailable:\s+(\d+) kB$/m.exec(meminfo)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}
