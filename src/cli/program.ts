/** The command line: runs a command, and turns failures into a message and an exit code. */
import { Command, CommanderError } from "commander";
import { ConfigError } from "../config/consistency.ts";
import { NodeError, reasonOf } from "../core/errors.ts";
import { benchCommand } from "./bench.ts";
import { chatCommand } from "./chat/command.ts";
import { runCommand } from "./chat/run.ts";
import { collectionsCommand } from "./collections/command.ts";
import { addExamples } from "./command-options.ts";
import { completionsCommand } from "./completions.ts";
import { doctorCommand } from "./doctor/command.ts";
import { documentsCommand } from "./documents.ts";
import { ingestCommand } from "./ingest.ts";
import { initCommand } from "./init.ts";
import { probeCommand, quantizeCommand } from "./internal-commands.ts";
import { keysCommand } from "./keys.ts";
import { licensesCommand } from "./licenses.ts";
import { mcpCommand } from "./mcp.ts";
import { modelsCommand } from "./models/command.ts";
import { psCommand } from "./models/ps.ts";
import { pullCommand } from "./pull.ts";
import { reloadCommand, serveCommand } from "./serve/command.ts";
import type { Shell } from "./shell.ts";

/** In the order that help lists them. */
const commands = [
  serveCommand,
  reloadCommand,
  chatCommand,
  runCommand,
  pullCommand,
  modelsCommand,
  psCommand,
  ingestCommand,
  collectionsCommand,
  documentsCommand,
  mcpCommand,
  keysCommand,
  initCommand,
  doctorCommand,
  benchCommand,
  completionsCommand,
  licensesCommand,
] as const;

/** Documented in docs/command-line.md. */
const exitCodes = { done: 0, failed: 1, wrongUse: 2, interrupted: 130 } as const;

export async function runProgram(shell: Shell, argv: readonly string[]): Promise<number> {
  const program = createProgram(shell);
  if (argv.length === 0) {
    program.outputHelp();
    return exitCodes.done;
  }
  try {
    await program.parseAsync([...argv], { from: "user" });
    return exitCodes.done;
  } catch (error) {
    return report(shell, error);
  }
}

/** All commands with their options; runs none. */
export function createProgram(shell: Shell): Command {
  const program = new Command("paddock")
    .description("A lightweight node that serves a language model over HTTP.")
    .version(`${shell.version} (${shell.build})`, "-V, --version", "print the version");
  addExamples(program, "paddock serve", "paddock ingest --help");
  for (const make of commands) program.addCommand(make(shell));
  program.addCommand(quantizeCommand(shell), { hidden: true });
  program.addCommand(probeCommand(shell), { hidden: true });
  writeThrough(shell, program);
  return program;
}

function report(shell: Shell, error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitCodes.done;
    return exitCodes.wrongUse;
  }
  if (error instanceof ConfigError) {
    shell.say(`${error.message}\n`);
    return exitCodes.wrongUse;
  }
  if (shell.stopped.aborted) {
    shell.say(`${error instanceof NodeError ? error.message : "Stopped."}\n`);
    return exitCodes.interrupted;
  }
  shell.say(
    `${error instanceof NodeError ? error.message : `Paddock failed: ${reasonOf(error)}`}\n`,
  );
  return exitCodes.failed;
}

/** Makes a command and its subcommands write to the shell, and throw instead of exiting. */
function writeThrough(shell: Shell, command: Command): void {
  command
    .exitOverride()
    .showHelpAfterError("(--help shows what there is)")
    .helpOption("-h, --help", "print help for a command")
    .configureOutput({ writeOut: shell.print, writeErr: shell.say });
  for (const inner of command.commands) writeThrough(shell, inner);
}
