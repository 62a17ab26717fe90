/** Completions for fish. */
import { type CompletedCommand, type CompletedOption, typedPaths } from "./command-tree.ts";
import { quotedForFish } from "./quoted.ts";

export function fishCompletions(tree: readonly CompletedCommand[]): string {
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
${tree.flatMap(lines).join("\n")}
`;
}

function lines({ path, commands, options, choices }: CompletedCommand): string[] {
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
