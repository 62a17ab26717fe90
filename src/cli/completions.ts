/** `paddock completions`: prints a completion script for a shell. */
import { Argument, Command } from "commander";
import { addExamples } from "./command-options.ts";
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

interface CompletedCommand {
  /** The words after `paddock`, joined by spaces; empty for the program itself. */
  path: string;
  commands: readonly { name: string; description: string }[];
  options: readonly CompletedOption[];
  /** Values of its first argument; empty: files, or free text. */
  choices: readonly string[];
}

interface CompletedOption {
  names: readonly string[];
  description: string;
  takesValue: boolean;
  choices: readonly string[];
}

/** Paths of all commands as the scripts match them: the previous words, a space, the next word. */
const typedPaths = (tree: readonly CompletedCommand[]): string[] =>
  tree
    .filter(({ path }) => path !== "")
    .map(({ path }) => (path.includes(" ") ? path : ` ${path}`));

function commandTree(command: Command, path: readonly string[] = []): CompletedCommand[] {
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
  return [own, ...inner.flatMap((child) => commandTree(child, [...path, child.name()]))];
}

/** Needs nothing besides bash itself. */
function bashCompletions(tree: readonly CompletedCommand[]): string {
  const known = typedPaths(tree).map(quoted);
  return `# Completions of paddock for bash: source <(paddock completions bash)
_paddock() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]}
  local at= index words=
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$at \${COMP_WORDS[index]}" in
      ${known.join(" | ")}) at="\${at:+$at }\${COMP_WORDS[index]}" ;;
    esac
  done
  case "$at" in
${tree.map(bashCase).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _paddock paddock
`;
}

function bashCase({ path, commands, options, choices }: CompletedCommand): string {
  const named = options.filter((option) => option.choices.length > 0);
  const free = options.filter((option) => option.takesValue && option.choices.length === 0);
  const lines = [
    ...named.map((option) => `${option.names.join(" | ")}) words=${wordList(option.choices)} ;;`),
    ...(free.length === 0
      ? []
      : [`${free.flatMap(({ names }) => names).join(" | ")}) COMPREPLY=() && return ;;`]),
    `*) words=${wordList(options.flatMap(({ names }) => names))}`,
    `  [[ $current == -* ]] || words=${wordList([...commands.map(({ name }) => name), ...choices])} ;;`,
  ];
  return `    ${quoted(path)})
      case "$previous" in
${lines.map((line) => `        ${line}`).join("\n")}
      esac
      ;;`;
}

const wordList = (list: readonly string[]): string => quoted(list.join(" "));

/** Works as a file in `fpath`, or sourced. */
function zshCompletions(tree: readonly CompletedCommand[]): string {
  const known = typedPaths(tree).map(quoted);
  return `#compdef paddock
# Completions of paddock for zsh: source <(paddock completions zsh), after compinit
_paddock() {
  local at= word previous=\${words[CURRENT - 1]}
  local -a commands options
  for word in "\${(@)words[2,CURRENT - 1]}"; do
    case "$at $word" in
      ${known.join(" | ")}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at" in
${tree.map(zshCase).join("\n")}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o option options
  elif (( $#commands )); then
    _describe command commands
  else
    _files
  fi
}
if [[ \${funcstack[1]} == _paddock ]]; then
  _paddock "$@"
else
  compdef _paddock paddock
fi
`;
}

function zshCase({ path, commands, options, choices }: CompletedCommand): string {
  const values = options.filter(({ takesValue }) => takesValue);
  const offered = [...commands, ...choices.map((name) => ({ name, description: "" }))];
  return `    ${quoted(path)})
      case "$previous" in
${values.map((option) => `        ${valueCase(option)}`).join("\n")}
      esac
      commands=(${offered.map(({ name, description }) => describedForZsh(name, description)).join(" ")})
      options=(${options.flatMap(({ names, description }) => names.map((name) => describedForZsh(name, description))).join(" ")})
      ;;`;
}

const valueCase = ({ names, choices }: CompletedOption): string =>
  choices.length === 0
    ? `${names.join(" | ")}) _files; return ;;`
    : `${names.join(" | ")}) compadd -- ${choices.map(quoted).join(" ")}; return ;;`;

/** A colon separates the name from its description. */
const describedForZsh = (name: string, description: string): string =>
  quoted(
    description === ""
      ? name
      : `${name.replaceAll(":", "\\:")}:${description.replaceAll("\n", " ")}`,
  );

function fishCompletions(tree: readonly CompletedCommand[]): string {
  const known = typedPaths(tree).map(quotedForFish);
  return `# Completions of paddock for fish: paddock completions fish | source
function __paddock_is_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case ${known.join(" ")}
                set at (string trim -- "$at $word")
        end
    end
    test "$at" = "$argv[1]"
end
${tree.flatMap(fishLines).join("\n")}
`;
}

function fishLines({ path, commands, options, choices }: CompletedCommand): string[] {
  const start = `complete -c paddock -n ${quotedForFish(`__paddock_is_at ${quotedForFish(path)}`)}`;
  return [
    ...commands.map(
      ({ name, description }) => `${start} -f -a ${name} -d ${quotedForFish(description)}`,
    ),
    ...(choices.length === 0 ? [] : [`${start} -f -a ${quotedForFish(choices.join(" "))}`]),
    ...options.map((option) => `${start} ${optionWords(option)}`),
  ];
}

function optionWords({ names, description, takesValue, choices }: CompletedOption): string {
  const flags = names.map((name) =>
    name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
  );
  const value =
    choices.length > 0 ? [`-x -a ${quotedForFish(choices.join(" "))}`] : takesValue ? ["-r"] : [];
  return [...flags, ...value, `-d ${quotedForFish(description)}`].join(" ");
}

/** Text in single quotes for bash and zsh, where a quote ends the text and begins another. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The same for fish, which escapes with a backslash. */
const quotedForFish = (text: string): string =>
  `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
