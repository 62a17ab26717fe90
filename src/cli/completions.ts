/** `paddock completions`: a script that teaches a shell the whole command line. */
import { Argument, Command } from "commander";
import { bashCompletions } from "./completions/bash.ts";
import { commandTree } from "./completions/command-tree.ts";
import { fishCompletions } from "./completions/fish.ts";
import { zshCompletions } from "./completions/zsh.ts";
import { addExamples } from "./examples.ts";
import type { Shell } from "./shell.ts";

const scripts = { bash: bashCompletions, zsh: zshCompletions, fish: fishCompletions } as const;

type ShellName = keyof typeof scripts;

export function completionsCommand(shell: Shell): Command {
  const command = new Command("completions")
    .description("print a script that completes commands and options in a shell")
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(scripts)));
  addExamples(
    command,
    "source <(paddock completions bash)",
    "paddock completions zsh > ~/.zfunc/_paddock",
    "paddock completions fish > ~/.config/fish/completions/paddock.fish",
  );
  return command.action((name: ShellName) => {
    shell.print(scripts[name](commandTree(command.parent ?? command)));
  });
}
