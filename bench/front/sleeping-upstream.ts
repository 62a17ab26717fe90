/** Starts the double that sleeps instead of computing. */
import { join } from "node:path";
import type { ChatServer } from "../measuring/client.ts";
import { killAtExit } from "../servers/kill-at-exit.ts";

export interface SleepingPace {
  /** Of each answer. */
  tokensPerSecond: number;
  /** What stands for the reading of a prompt. */
  firstTokenMs: number;
  /** Answers at the same time; what comes besides waits. */
  atOnce: number;
}

export async function startSleeping(pace: SleepingPace): Promise<ChatServer & AsyncDisposable> {
  const file = join(import.meta.dir, "sleeping-server.ts");
  const child = Bun.spawn([process.execPath, file, JSON.stringify(pace)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  killAtExit(child);
  const reader = child.stdout.getReader();
  const { value = new Uint8Array() } = await reader.read();
  const port = Number(new TextDecoder().decode(value));
  if (!(port > 0)) throw new Error("The sleeping server did not start");
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    model: "sleeping",
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
