/** The processes that a process started, their memory and their CPU time; from /proc. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";

/** Undefined where there is no such process, or no /proc. */
const read = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").catch(() => undefined);

/** The processes that a process started itself. */
export async function childrenOf(pid: number): Promise<number[]> {
  const text = (await read(`/proc/${pid}/task/${pid}/children`)) ?? "";
  return text.split(" ").filter(Boolean).map(Number);
}

/** The process that runs a model of a node. */
export async function runnerOf(nodePid: number, model: string): Promise<number> {
  for (const pid of await childrenOf(nodePid)) {
    const words = ((await read(`/proc/${pid}/cmdline`)) ?? "").split("\0");
    if (words.includes("runner") && words.includes(model)) return pid;
  }
  throw new Error(`The node has no process for '${model}'`);
}

/** Resident bytes of a process and those it started. */
export async function memoryOf(pid: number): Promise<number> {
  const status = (await read(`/proc/${pid}/status`)) ?? "";
  const own = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
  const children = await Promise.all((await childrenOf(pid)).map(memoryOf));
  return children.reduce((sum, size) => sum + size, own);
}

/** Milliseconds of CPU time that a process's main thread has used; undefined where there is no /proc. */
export function mainThreadCpuMs(pid: number): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    return undefined;
  }
}

/** Whether a process has ended, also one that is still a zombie; asked without a turn of the event loop. */
export function hasEnded(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")")).startsWith(") Z");
  } catch {
    return true;
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
