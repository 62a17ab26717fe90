/** The real program as a process of its own. */
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { type CommandResult, runCommand } from "./paddock-command.ts";

/** The executable to test instead of the sources; the processes share what it writes out. */
const executable = process.env.PADDOCK_TEST_PROGRAM;
/** The program as it is in `src`. */
const source = join(import.meta.dir, "..", "..", "src", "main.ts");
/** The bundle of it that scripts/test.ts made starts in half the time, and has a short handbook. */
const entryFile = process.env.PADDOCK_TEST_BUNDLE ?? source;
const cache = join(tmpdir(), `paddock-test-cache-${process.pid}`);
if (executable !== undefined)
  process.on("exit", () => rmSync(cache, { recursive: true, force: true }));

/** The command line of the program under test. */
export const programUnderTest: readonly string[] =
  executable === undefined ? [process.execPath, entryFile] : [executable];

/** The environment that the program runs in, in a folder. */
export const environmentIn = (cwd: string): Record<string, string> => ({
  PATH: process.env.PATH ?? "",
  HOME: cwd,
  PADDOCK_CACHE_DIR: cache,
});

/** Whether the tests run the executable. */
export const testsExecutable = executable !== undefined;

/** To be started instead of the bundle, for what the bundle has not: the whole handbook. */
export const sourceFile = testsExecutable ? undefined : source;

interface Paddock extends AsyncDisposable {
  process: Subprocess<Blob, "pipe", "pipe">;
  stdout(): string;
  stderr(): string;
  /** Waits until the process has printed the text to stdout; fails if it ends before. */
  printed(text: string): Promise<void>;
  /** Waits for the end; returns the exit code. */
  exit(): Promise<number>;
}

export interface PaddockOptions {
  cwd: string;
  env?: Record<string, string>;
  /** The program's file; default: this repository's, or the executable under test. */
  entry?: string | undefined;
  /** What is on standard input; default: nothing. */
  input?: string;
  /** Whether `runPaddock` starts a process; default: only where the executable is tested. */
  isProcess?: boolean;
}

export function startPaddock(
  args: readonly string[],
  { cwd, env = {}, entry, input = "" }: PaddockOptions,
): Paddock {
  const program = entry === undefined ? programUnderTest : [process.execPath, entry];
  const subprocess = Bun.spawn([...program, ...args], {
    cwd,
    env: { ...environmentIn(cwd), ...env },
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const out = collect(subprocess.stdout);
  const err = collect(subprocess.stderr);
  const exit = async (): Promise<number> => {
    const code = await subprocess.exited;
    await Promise.all([out.ended, err.ended]);
    return code;
  };
  return {
    process: subprocess,
    stdout: out.text,
    stderr: err.text,
    exit,
    async printed(text) {
      while (!out.text().includes(text)) {
        if (subprocess.exitCode !== null || subprocess.signalCode !== null) {
          throw new Error(`Paddock ended with ${subprocess.exitCode}:\n${err.text()}`);
        }
        // What ended said all it had to say; only the exit is left to wait for.
        await (out.hasEnded() ? subprocess.exited : Promise.race([out.more(), subprocess.exited]));
      }
    },
    async [Symbol.asyncDispose]() {
      subprocess.kill("SIGKILL");
      await subprocess.exited;
    },
  };
}

/** Runs a command to its end: in this process, unless the process itself is tested. */
export async function runPaddock(
  args: readonly string[],
  options: PaddockOptions,
): Promise<CommandResult> {
  const { cwd, env, entry, input = "", isProcess = testsExecutable } = options;
  if (!isProcess && entry === undefined) {
    const program = programUnderTest;
    return await runCommand(args, { cwd, env: { ...environmentIn(cwd), ...env }, input, program });
  }
  await using paddock = startPaddock(args, options);
  const code = await paddock.exit();
  return { code, stdout: paddock.stdout(), stderr: paddock.stderr() };
}

export interface ServingPaddock extends Paddock {
  origin: string;
}

export interface ServeOptions extends PaddockOptions {
  /** Whether to wait until every model and passage is there too, as far as they can be; default: true. */
  untilComplete?: boolean;
}

/** Starts a node on a free port and waits for its listening line, and for what comes after it. */
export async function servePaddock(
  { untilComplete = true, ...options }: ServeOptions,
  args: readonly string[] = [],
): Promise<ServingPaddock> {
  const paddock = startPaddock(["serve", "--port", "0", ...args], options);
  try {
    await paddock.printed("listening on");
    const origin = /listening on (\S+)/.exec(paddock.stdout())?.[1];
    if (origin === undefined) throw new Error(`No address in: ${paddock.stdout()}`);
    while (untilComplete && (await isPreparing(paddock, origin))) await Bun.sleep(pollMs);
    return { ...paddock, origin };
  } catch (error) {
    await paddock[Symbol.asyncDispose]();
    throw error;
  }
}

const pollMs = 20;

/** Whether more is coming by itself; a store that is away is not waited for. */
async function isPreparing({ process, stderr }: Paddock, origin: string): Promise<boolean> {
  if (process.exitCode !== null || process.signalCode !== null) {
    throw new Error(`Paddock ended with ${process.exitCode}:\n${stderr()}`);
  }
  // One that cannot be asked has ended, or is about to.
  const response = await fetch(`${origin}/ready`).catch(() => undefined);
  return response === undefined || /being prepared|still coming/.test(await response.text());
}

function collect(stream: ReadableStream<Uint8Array>) {
  let text = "";
  let isOver = false;
  let arrived = Promise.withResolvers<void>();
  const ended = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true });
      arrived.resolve();
      arrived = Promise.withResolvers<void>();
    }
    isOver = true;
    arrived.resolve();
  })();
  return { text: () => text, more: () => arrived.promise, ended, hasEnded: () => isOver };
}
