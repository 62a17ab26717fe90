/** The program's commands, to be described and not to be run. */
import type { Command } from "commander";
import { createProgram } from "../../src/cli/program.ts";
import type { Shell } from "../../src/cli/shell.ts";

export function describedProgram(): Command {
  const unused = (): never => {
    throw new Error("A described program does nothing");
  };
  const shell: Shell = {
    env: {},
    cwd: ".",
    program: { command: [], env: {} },
    version: "0.0.0",
    build: "described",
    handbook: unused,
    isTerminal: false,
    hasColour: false,
    print: unused,
    printAll: unused,
    paint: unused,
    draw: unused,
    say: unused,
    input: { isTerminal: false, stream: unused, line: unused, terminal: unused },
    residentMemory: unused,
    processes: { id: 0, startOf: unused, hangUp: unused },
    onHangup: unused,
    stopped: new AbortController().signal,
    end: unused,
  };
  return createProgram(shell);
}

/** Every command that people may type, with the words that lead to it, the program's own first. */
export function commandsOf(command: Command, path: readonly string[] = []): DescribedCommand[] {
  const inner = command.createHelp().visibleCommands(command);
  return [
    { command, words: [...path, command.name()].join(" ") },
    ...inner
      .filter((child) => child.name() !== "help")
      .flatMap((child) => commandsOf(child, [...path, command.name()])),
  ];
}

export interface DescribedCommand {
  command: Command;
  /** `paddock keys create` */
  words: string;
}
