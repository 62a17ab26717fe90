/** Completions for bash; needs nothing beside the shell itself. */
import { type CompletedCommand, typedPaths } from "./command-tree.ts";
import { quoted } from "./quoted.ts";

export function bashCompletions(tree: readonly CompletedCommand[]): string {
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
${tree.map(branch).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _paddock paddock
`;
}

function branch({ path, commands, options, choices }: CompletedCommand): string {
  const named = options.filter((option) => option.choices.length > 0);
  const free = options.filter((option) => option.takesValue && option.choices.length === 0);
  const lines = [
    ...named.map((option) => `${option.names.join(" | ")}) words=${words(option.choices)} ;;`),
    ...(free.length === 0
      ? []
      : [`${free.flatMap(({ names }) => names).join(" | ")}) COMPREPLY=() && return ;;`]),
    `*) words=${words(options.flatMap(({ names }) => names))}`,
    `  [[ $current == -* ]] || words=${words([...commands.map(({ name }) => name), ...choices])} ;;`,
  ];
  return `    ${quoted(path)})
      case "$previous" in
${lines.map((line) => `        ${line}`).join("\n")}
      esac
      ;;`;
}

const words = (list: readonly string[]): string => quoted(list.join(" "));
