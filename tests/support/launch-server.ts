/** Starts the server of another project for a test, and makes sure that it ends with the tests. */
import { join } from "node:path";
import type { Subprocess } from "bun";

export interface LaunchOptions {
  /** For messages. */
  name: string;
  command: readonly string[];
  /** Its own folder, which goes with it. */
  cwd: string;
  url: string;
  isReady: () => Promise<boolean>;
}

export async function launchServer(options: LaunchOptions): Promise<Subprocess> {
  const { name, command, cwd, url, isReady } = options;
  const log = Bun.file(join(cwd, "log.txt"));
  const child = Bun.spawn([...command], {
    cwd,
    env: {},
    stdin: "ignore",
    stdout: log,
    stderr: log,
  });
  guard(child, cwd);
  const deadline = Date.now() + 20_000;
  while (!(await isReady())) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      child.kill("SIGKILL");
      await child.exited;
      throw new Error(`${name} did not start at ${url}:\n${await log.text()}`);
    }
    await Bun.sleep(10);
  }
  return child;
}

/** Ends the server and removes its folder where the tests are cut off: that closes the guard's input. */
function guard(child: Subprocess, folder: string): void {
  const guarding = Bun.spawn(["sh", "-c", `read _; kill -9 ${child.pid}; rm -rf "$0"`, folder], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
  });
  guarding.unref();
  child.exited.finally(() => guarding.kill("SIGKILL"));
}
