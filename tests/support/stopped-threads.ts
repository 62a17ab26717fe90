/**
 * Stops threads of a process that compute by ptrace, which no signal does, as behind a driver that
 * locks up: its workers, while its loop goes on to turn, or the loop itself, in a short step. Who traces does not wait for them, so
 * that the process is not gone when it is killed, as one that is beyond any signal.
 */
import { dlopen } from "bun:ffi";
import { readdirSync, readFileSync } from "node:fs";

const [seize, interrupt] = [0x4206, 0x4207];

function trace(thread: number): boolean {
  const types = { args: ["i64", "i64", "ptr", "ptr"], returns: "i64" } as const;
  const { symbols } = dlopen("libc.so.6", { ptrace: types });
  return [seize, interrupt].every((what) => symbols.ptrace(what, thread, null, null) === 0n);
}

/** Stops its workers, or its loop; returns how many threads that were. */
export function stopComputing(pid: number, where: "workers" | "loop"): number {
  const threads = readdirSync(`/proc/${pid}/task`).map(Number);
  const workers = threads.filter((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/comm`, "utf8").startsWith("Bun Pool"),
  );
  return (where === "workers" ? workers : [pid]).filter(trace).length;
}

/** Whether this machine lets a process stop a child's threads. */
export function canStopThreads(): boolean {
  if (process.platform !== "linux") return false;
  const child = Bun.spawn(["sleep", "60"]);
  try {
    return trace(child.pid);
  } catch {
    // There is no such library.
    return false;
  } finally {
    child.kill("SIGKILL");
    child.unref();
  }
}
