/** The memory that the process may use: the machine's, or less where its control group says so. */
import { readFile } from "node:fs/promises";
import { freemem, totalmem } from "node:os";

export interface Memory {
  /** Bytes. */
  total: number;
  free: number;
}

export async function memoryOfMachine(): Promise<Memory> {
  const limit = toBytes(await read("/sys/fs/cgroup/memory.max"));
  const used = toBytes(await read("/sys/fs/cgroup/memory.current"));
  const total = Math.min(totalmem(), limit ?? Number.POSITIVE_INFINITY);
  // What the system keeps of files counts as free: it gives it back.
  const free = availableOf(await read("/proc/meminfo")) ?? freemem();
  const left = limit === undefined ? free : Math.max(0, limit - (used ?? 0));
  return { total, free: Math.min(total, free, left) };
}

const read = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");

/** `max` is no bound. */
const toBytes = (text: string): number | undefined =>
  /^\d+$/.test(text.trim()) ? Number(text) : undefined;

function availableOf(meminfo: string): number | undefined {
  const [, kilobytes] = /^MemAvailable:\s+(\d+) kB/m.exec(meminfo) ?? [];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}
