/** Completions for zsh, as a file of its function path or as something to source. */
import { type CompletedCommand, type CompletedOption, typedPaths } from "./command-tree.ts";
import { quoted } from "./quoted.ts";

export function zshCompletions(tree: readonly CompletedCommand[]): string {
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
${tree.map(branch).join("\n")}
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

function branch({ path, commands, options, choices }: CompletedCommand): string {
  const values = options.filter(({ takesValue }) => takesValue);
  const offered = [...commands, ...choices.map((name) => ({ name, description: "" }))];
  return `    ${quoted(path)})
      case "$previous" in
${values.map((option) => `        ${valueCase(option)}`).join("\n")}
      esac
      commands=(${offered.map(({ name, description }) => described(name, description)).join(" ")})
      options=(${options.flatMap(({ names, description }) => names.map((name) => described(name, description))).join(" ")})
      ;;`;
}

const valueCase = ({ names, choices }: CompletedOption): string =>
  choices.length === 0
    ? `${names.join(" | ")}) _files; return ;;`
    : `${names.join(" | ")}) compadd -- ${choices.map(quoted).join(" ")}; return ;;`;

/** A colon separates the name from its description. */
const described = (name: string, description: string): string =>
  quoted(
    description === ""
      ? name
      : `${name.replaceAll(":", "\\:")}:${description.replaceAll("\n", " ")}`,
  );
