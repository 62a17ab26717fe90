/** Starts the floor and asks it, one request at a time. */
import { join } from "node:path";
import type { FloorAnswer, FloorRequest } from "./floor.ts";
import { killAtExit } from "./kill-at-exit.ts";

export interface Floor extends AsyncDisposable {
  ask(request: FloorRequest): Promise<FloorAnswer>;
}

export async function startFloor(threads: number): Promise<Floor> {
  let answered = Promise.withResolvers<FloorAnswer>();
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "floor.ts"), String(threads)], {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    ipc: (message: FloorAnswer) => answered.resolve(message),
    onExit: () => answered.reject(new Error("the floor has ended")),
  });
  killAtExit(child);
  await answered.promise;
  return {
    async ask(request) {
      answered = Promise.withResolvers();
      child.send(request);
      return await answered.promise;
    },
    async [Symbol.asyncDispose]() {
      answered.promise.catch(() => {});
      child.kill();
      await child.exited;
    },
  };
}
