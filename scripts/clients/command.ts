/** Runs a client as a process of its own, for so long and no longer. */
import { kill } from "node:process";

export interface CommandOptions {
  cwd: string;
  env: Record<string, string>;
  /** Ends it before it has ended by itself. */
  stop?: AbortSignal;
  /** How long it may take; default: two minutes. */
  mostMs?: number;
}

export interface Ran {
  /** Undefined where it was ended. */
  code: number | undefined;
  /** What it printed, to both. */
  output: string;
}

export async function run(command: readonly string[], options: CommandOptions): Promise<Ran> {
  const { cwd, env, stop, mostMs = 120_000 } = options;
  const child = Bun.spawn([...command], {
    cwd,
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    // Launchers start the program that does the work: both are ended as one group.
    detached: true,
  });
  let isEnded = false;
  const end = (): void => {
    isEnded = true;
    try {
      kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  };
  const timer = setTimeout(end, mostMs);
  stop?.addEventListener("abort", end);
  try {
    const [out, error, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { code: isEnded ? undefined : code, output: `${out}\n${error}` };
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener("abort", end);
  }
}
