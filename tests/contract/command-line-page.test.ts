import { describe, expect, test } from "bun:test";
import { commandLineFile, commandLinePage } from "../../scripts/command-line-docs.ts";
import { commandsOf, describedProgram } from "../../scripts/docs/described-program.ts";
import { examplesOf, settingsGroup } from "../../src/cli/command-options.ts";
import { settings } from "../../src/config/settings.ts";

const page = await Bun.file(commandLineFile).text();
const commands = commandsOf(describedProgram());

test("docs/command-line.md has the commands that the program has (`bun run docs` writes them)", () => {
  expect(commandLinePage(page)).toBe(page);
});

test("the page has a part for each command, and none for another", () => {
  const headings = [...page.matchAll(/^### `(.*)`$/gm)].map(([, words]) => words);
  expect(headings).toEqual(commands.slice(1).map(({ words }) => words));
});

describe.each(commands.slice(1))("$words", ({ command, words }) => {
  const [, part = ""] = page.split(`### \`${words}\`\n`);
  const [own = ""] = part.split("\n### ");

  test("has an example of itself in its help and on the page", () => {
    const examples = examplesOf(command);
    expect(examples.join("\n")).toContain(words);
    let help = "";
    command.configureOutput({
      writeOut: (text) => {
        help += text;
      },
    });
    command.outputHelp();
    for (const example of examples)
      expect([help, own]).toEqual([
        expect.stringContaining(example),
        expect.stringContaining(example),
      ]);
  });

  test("has exactly its own options on the page", () => {
    const listed = [...own.matchAll(/^\| `(-[^`]*)` \|/gm)].map(([, flags]) => flags);
    const given = command.options.filter(
      ({ helpGroupHeading }) => helpGroupHeading !== settingsGroup,
    );
    expect(listed).toEqual(given.map(({ flags }) => flags));
  });

  test("says what it and each of its options is for", () => {
    const said = [command.description(), ...command.options.map(({ description }) => description)];
    expect(said).not.toContain("");
  });

  test("takes all of the settings or none", () => {
    const flags = settings.flatMap(({ flag }) => (flag === undefined ? [] : [`--${flag}`]));
    const names = command.options.map(({ long }) => String(long));
    const taken = names.filter((name) => flags.includes(name));
    expect([[], flags]).toContainEqual(taken);
  });
});
