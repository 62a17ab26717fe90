/** Writes the commands of docs/command-line.md from the program itself. */
import { join } from "node:path";
import type { Command, Option } from "commander";
import { examplesOf, settingsGroup } from "../src/cli/command-options.ts";
import { commandsOf, type DescribedCommand, describedProgram } from "./docs/described-program.ts";
import { toMarkdownTable } from "./docs/markdown-table.ts";
import { withParts } from "./docs/marked-parts.ts";

export const commandLineFile = join(import.meta.dir, "..", "docs", "command-line.md");

/** The page with fresh commands. */
export function commandLinePage(page: string): string {
  const commands = commandsOf(describedProgram()).slice(1);
  return withParts(page, { commands: commands.map(section).join("\n\n") });
}

function section({ command, words }: DescribedCommand): string {
  const options = ownOptions(command);
  const takesSettings = options.length < command.options.length;
  return [
    `### \`${words}\``,
    `${sentence(command.description())}${takesSettings ? " Takes the settings' options too." : ""}`,
    argumentsAndOptions(command, options),
    `\`\`\`sh\n${examplesOf(command).join("\n")}\n\`\`\``,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** Without the settings, which many commands share; the page about configuration has them. */
const ownOptions = ({ options }: Command): Option[] =>
  options.filter(({ helpGroupHeading }) => helpGroupHeading !== settingsGroup);

function argumentsAndOptions(command: Command, options: readonly Option[]): string {
  const rows = [
    ...command.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
      return [
        `\`${argument.required ? `<${name}>` : `[${name}]`}\``,
        `${sentence(argument.description)}${choices(argument.argChoices)}`,
      ];
    }),
    ...options.map((option) => [
      `\`${option.flags}\``,
      `${sentence(option.description)}${choices(option.argChoices)}${byDefault(option)}`,
    ]),
  ];
  return rows.length === 0 ? "" : toMarkdownTable(["Argument or option", "Meaning"], rows);
}

const choices = (names: readonly string[] = []): string =>
  names.length === 0 ? "" : ` One of ${names.map((name) => `\`${name}\``).join(", ")}.`;

const byDefault = ({ defaultValue }: Option): string =>
  defaultValue === undefined ? "" : ` Default: \`${defaultValue}\`.`;

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;

if (import.meta.main) {
  const page = await Bun.file(commandLineFile).text();
  await Bun.write(commandLineFile, commandLinePage(page));
  console.log(`Wrote ${commandLineFile}`);
}
