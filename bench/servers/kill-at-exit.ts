/** Ends what a benchmark started, however the benchmark itself ends. */
import type { Subprocess } from "bun";

const running = new Set<Subprocess>();

export function killAtExit(child: Subprocess): void {
  if (running.size === 0) watch();
  running.add(child);
  void child.exited.then(() => running.delete(child));
}

let isWatching = false;
function watch(): void {
  if (isWatching) return;
  isWatching = true;
  process.on("exit", () => {
    for (const child of running) child.kill("SIGKILL");
  });
  // Without a listener these signals end the process before its exit is announced.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));
}
