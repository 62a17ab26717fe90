/** The command line: argv to one command, and every failure to a message and an exit code. */
import { Command, CommanderError } from "commander";
import { ConfigError } from "../config/config-error.ts";
import { NodeError, reasonOf } from "../core/errors.ts";
import { collectionsCommand } from "./collections.ts";
import { ingestCommand } from "./ingest.ts";
import { keysCommand } from "./keys.ts";
import { modelsCommand } from "./models.ts";
import { pullCommand } from "./pull.ts";
import { quantizeCommand } from "./quantize.ts";
import { serveCommand } from "./serve.ts";
import type { Shell } from "./shell.ts";

/** 0: done. 1: failed. 2: the command line or the configuration is wrong. */
export async function runProgram(shell: Shell, argv: readonly string[]): Promise<number> {
  const program = new Command("paddock")
    .description("A lightweight node that serves a language model over HTTP.")
    .version(`${shell.version} (${shell.build})`)
    .showHelpAfterError("(--help shows what there is)");
  for (const make of [
    serveCommand,
    pullCommand,
    modelsCommand,
    ingestCommand,
    collectionsCommand,
    keysCommand,
  ]) {
    program.addCommand(make(shell));
  }
  program.addCommand(quantizeCommand(), { hidden: true });
  speakThrough(shell, program);
  try {
    await program.parseAsync([...argv], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      return error.code === "commander.error" ? 1 : 2;
    }
    if (error instanceof ConfigError) {
      shell.say(`${error.message}\n`);
      return 2;
    }
    shell.say(
      `${error instanceof NodeError ? error.message : `Paddock failed: ${reasonOf(error)}`}\n`,
    );
    return 1;
  }
}

/** Has a command and those under it write through the shell, and end by throwing. */
function speakThrough(shell: Shell, command: Command): void {
  command.exitOverride().configureOutput({ writeOut: shell.print, writeErr: shell.say });
  for (const inner of command.commands) speakThrough(shell, inner);
}
