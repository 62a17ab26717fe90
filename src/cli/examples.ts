/** Examples of commands: help shows them, and the handbook does. */
import type { Command } from "commander";

const examples = new WeakMap<Command, readonly string[]>();

/** Has the command's help end with command lines that a person can take over. */
export function addExamples(command: Command, ...lines: readonly string[]): Command {
  examples.set(command, lines);
  const heading = lines.length === 1 ? "Example" : "Examples";
  return command.addHelpText(
    "after",
    `\n${heading}:\n${lines.map((line) => `  ${line}`).join("\n")}`,
  );
}

export const examplesOf = (command: Command): readonly string[] => examples.get(command) ?? [];
