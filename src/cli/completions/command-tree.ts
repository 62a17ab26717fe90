/** The command line as completions see it: every command that people may type, with what may follow it. */
import type { Command } from "commander";

export interface CompletedCommand {
  /** The words after `paddock`, joined by spaces; empty for the program itself. */
  path: string;
  commands: readonly { name: string; description: string }[];
  options: readonly CompletedOption[];
  /** What its first argument may be; empty: files, or whatever it takes. */
  choices: readonly string[];
}

export interface CompletedOption {
  /** `--port`, `-h` */
  names: readonly string[];
  description: string;
  takesValue: boolean;
  choices: readonly string[];
}

/** The paths of all commands, as a script's loop over the words meets them: what came before, a space, the next word. */
export const typedPaths = (tree: readonly CompletedCommand[]): string[] =>
  tree
    .filter(({ path }) => path !== "")
    .map(({ path }) => (path.includes(" ") ? path : ` ${path}`));

export function commandTree(program: Command): CompletedCommand[] {
  return walk(program, []);
}

function walk(command: Command, path: readonly string[]): CompletedCommand[] {
  const help = command.createHelp();
  const inner = help.visibleCommands(command).filter((child) => child.name() !== "help");
  const own: CompletedCommand = {
    path: path.join(" "),
    commands: inner.map((child) => ({ name: child.name(), description: child.description() })),
    options: help.visibleOptions(command).map((option) => ({
      names: [option.long, option.short].filter((name) => name !== undefined),
      description: option.description,
      takesValue: option.required || option.optional,
      choices: option.argChoices ?? [],
    })),
    choices: command.registeredArguments[0]?.argChoices ?? [],
  };
  return [own, ...inner.flatMap((child) => walk(child, [...path, child.name()]))];
}
