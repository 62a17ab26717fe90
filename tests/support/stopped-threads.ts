/**
 * Stops threads of a process by ptrace, which no signal does, as behind a driver that locks up or a
 * disk that hangs: its workers, or those of its stores, while its loop goes on to turn, or the loop
 * itself, in a short step. Who traces does not wait for them, so that the process is not gone when it
 * is killed, as one that is beyond any signal.
 */
import { dlopen } from "bun:ffi";
import { readdirSync, readFileSync } from "node:fs";

const [seize, interrupt] = [0x4206, 0x4207];

function trace(thread: number): boolean {
  const types = { args: ["i64", "i64", "ptr", "ptr"], returns: "i64" } as const;
  const { symbols } = dlopen("libc.so.6", { ptrace: types });
  return [seize, interrupt].every((what) => symbols.ptrace(what, thread, null, null) === 0n);
}

/** How Bun calls them. */
const names = { workers: "Bun Pool", stores: "Worker" };

/** Stops its workers, its stores' threads, or its loop; returns how many threads that were. */
export function stopComputing(pid: number, where: "workers" | "stores" | "loop"): number {
  return (where === "loop" ? [pid] : threadsOf(pid, where)).filter(trace).length;
}

const threadsOf = (pid: number, where: keyof typeof names): number[] =>
  readdirSync(`/proc/${pid}/task`)
    .map(Number)
    .filter((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/comm`, "utf8").startsWith(names[where]),
    );

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

/** Until they have done nothing for a while: one that is stopped elsewhere than in a call of the system may hold a lock that the loop needs. */
async function untilAtRest(pid: number): Promise<void> {
  const switches = (): string =>
    threadsOf(pid, "stores")
      .map((thread) => readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8"))
      .map((status) => /^voluntary_ctxt_switches:.*$/m.exec(status)?.[0])
      .join();
  for (let before = ""; before !== switches(); ) {
    before = switches();
    await Bun.sleep(300);
  }
}

/** Stops its stores' threads, at rest, until it is disposed of; by another process, so that this one sees its end. */
export async function stopStores(pid: number): Promise<Disposable> {
  const tracer = Bun.spawn([process.execPath, import.meta.path, `${pid}`], { stdout: "pipe" });
  const { value } = await tracer.stdout.getReader().read();
  if (Number(new TextDecoder().decode(value)) === 0) throw new Error("It has no stores' threads.");
  return { [Symbol.dispose]: () => tracer.kill("SIGKILL") };
}

if (import.meta.main) {
  const pid = Number(process.argv[2]);
  await untilAtRest(pid);
  process.stdout.write(`${stopComputing(pid, "stores")}`);
  setInterval(() => {}, 60_000);
}
