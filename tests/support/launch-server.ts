/** Starts the server of another project for a test, and makes sure that it ends with the tests. */
import { readFileSync } from "node:fs";
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

async function launchServer(options: LaunchOptions): Promise<Subprocess> {
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
  // The test's own time-out ends a wait in vain, and the guard the server with the tests.
  while (!(await isReady())) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`${name} did not start at ${url}:\n${await log.text()}`);
    }
    await Bun.sleep(10);
  }
  return child;
}

/** A server that is ended, started again and held up. */
export interface LaunchedServer {
  readonly pid: number;
  /** Ends it at once, without a warning. */
  kill(): Promise<void>;
  /** After `kill`. */
  start(): Promise<void>;
  /** Ends it as an administrator would, and starts it again. */
  restart(): Promise<void>;
  /** It keeps its connections, and answers nothing. */
  pause(): void;
  resume(): void;
}

export async function keepLaunching(options: LaunchOptions): Promise<LaunchedServer> {
  let running = await launchServer(options);
  const start = async (): Promise<void> => {
    running = await launchServer(options);
  };
  const kill = async (): Promise<void> => {
    running.kill("SIGKILL");
    await running.exited;
  };
  return {
    get pid() {
      return running.pid;
    },
    kill,
    start,
    async restart() {
      running.kill("SIGTERM");
      // It may wait for idle connections to close, which takes seconds.
      await Promise.race([running.exited, Bun.sleep(500)]);
      await kill();
      await start();
    },
    pause() {
      running.kill("SIGSTOP");
      // On a busy machine a thread may run on for a moment.
      while (!/^State:\tT/m.test(readFileSync(`/proc/${running.pid}/status`, "utf8"))) {
        Bun.sleepSync(1);
      }
    },
    resume: () => running.kill("SIGCONT"),
  };
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
