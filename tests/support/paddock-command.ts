/** A command of the program, run in this process: the same code behind the same shell, without the start of one. */
import { join } from "node:path";
import { version } from "../../package.json" with { type: "json" };
import { printable, wantsColour } from "../../src/cli/printing.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { Shell } from "../../src/cli/shell.ts";
import { handbookPagesIn } from "../../src/ingest/handbook.ts";
import { engineEnvironment, processStart } from "../../src/subprocess/program.ts";

export interface CommandOptions {
  cwd: string;
  /** All that the command sees of an environment. */
  env: Readonly<Record<string, string>>;
  /** What is on standard input. */
  input: string;
  /** The command line of what it starts as a process: readers and runners. */
  program: readonly string[];
}

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command to its end; nobody interrupts it. */
export async function runCommand(
  args: readonly string[],
  { cwd, env, input, program }: CommandOptions,
): Promise<CommandResult> {
  const result: CommandResult = { code: 0, stdout: "", stderr: "" };
  const write = (to: "stdout" | "stderr") => (text: string) => {
    result[to] += text;
  };
  const writePrintable = (to: "stdout" | "stderr") => (text: string) => {
    result[to] += printable(text);
  };
  const shell: Shell = {
    env,
    cwd,
    program: { command: program, env: engineEnvironment(env) },
    version,
    build: "from source",
    handbook: () => handbookPagesIn(join(import.meta.dir, "..", "..", "docs")),
    isTerminal: false,
    hasColour: wantsColour(env, false),
    print: writePrintable("stdout"),
    printAll: async (texts) => {
      for await (const text of texts) result.stdout += printable(text);
    },
    say: writePrintable("stderr"),
    paint: write("stdout"),
    draw: write("stderr"),
    input: {
      isTerminal: false,
      stream: () => new Blob([input]).stream(),
      line: async () => input.split("\n", 1)[0] ?? "",
      terminal: () => {
        throw new Error("There is no terminal here.");
      },
    },
    residentMemory: () => process.memoryUsage.rss(),
    processes: {
      id: process.pid,
      startOf: processStart,
      hangUp: (id) => void process.kill(id, "SIGHUP"),
    },
    onHangup: () => ({ [Symbol.dispose]: () => {} }),
    stopped: new AbortController().signal,
    end: (code) => {
      throw new Error(`Nobody interrupts a command here, and yet it ends with ${code}.`);
    },
  };
  result.code = await runProgram(shell, args);
  return result;
}
