/** Programs of others that a shipped configuration is for, run with it where they are installed. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { notInstalled, skipUnless } from "./skip-reason.ts";

const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];

/** Where a program is; undefined where it is not installed. */
export const findProgram = (name: string): string | undefined =>
  folders.map((folder) => join(folder, name)).find((file) => existsSync(file));

/** The same for a program that tests need; where it is missing, that is the reason why they are skipped. */
export function installed(name: string, packageName = name): string | undefined {
  const path = findProgram(name);
  skipUnless(path !== undefined, notInstalled(name, packageName));
  return path;
}

/** Runs until it is disposed of; comes back once `isReady` says so. */
export async function runProgram(
  command: readonly string[],
  { cwd, isReady }: { cwd: string; isReady: () => Promise<boolean> },
): Promise<AsyncDisposable> {
  const child = Bun.spawn([...command], {
    cwd,
    // What a program keeps of its own, it keeps in the test's folder.
    env: { PATH: process.env.PATH ?? "", HOME: cwd, XDG_DATA_HOME: cwd, XDG_CONFIG_HOME: cwd },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const said = new Response(child.stderr).text();
  // The test's own time-out ends a wait in vain, and the program with it.
  while (!(await isReady().catch(() => false))) {
    if (child.exitCode !== null) throw new Error(`${command[0]} ended: ${await said}`);
    await Bun.sleep(10);
  }
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}
