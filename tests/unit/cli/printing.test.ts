import { describe, expect, test } from "bun:test";
import { Command } from "commander";
import {
  createStyle,
  isConfirmed,
  printable,
  printableJson,
  printableName,
  toTable,
  wantsColour,
} from "../../../src/cli/printing.ts";
import type { Shell } from "../../../src/cli/shell.ts";

test("text is shown as it is, and what moves the cursor is not", () => {
  expect(printable("Füße\t👣\nnext\r\n")).toBe("Füße\t👣\nnext\n");
  expect(printable("\u001b[2J\u009b31m\u0007\r")).toBe("\uFFFD[2J\uFFFD31m\uFFFD\uFFFD");
});

test("a name ends no line", () => {
  expect(printableName("a\nb\t\u001b]0;title\u0007")).toBe("a\uFFFDb\uFFFD\uFFFD]0;title\uFFFD");
});

test("JSON escapes every control character, and means the same", () => {
  const value = { name: "\u001b[31m\u009b2J\u007f" };
  expect(printableJson(value)).toBe('{"name":"\\u001b[31m\\u009b2J\\u007f"}');
  expect(JSON.parse(printableJson(value))).toEqual(value);
});

test("a table keeps its rows, whatever the cells say", () => {
  expect(toTable([{ name: "a\nb\u001b[8m", size: 1 }])).toBe(
    "NAME     SIZE\na\uFFFDb\uFFFD[8m     1\n",
  );
});

test("colour is the program's own alone", () => {
  expect(createStyle(true).bad("no\u001b[0m")).toBe("\u001b[31mno\uFFFD[0m\u001b[39m");
});

describe("colour", () => {
  test.each<[Record<string, string>, boolean, boolean]>([
    [{}, true, true],
    [{}, false, false],
    [{ TERM: "dumb" }, true, false],
    [{ NO_COLOR: "1" }, true, false],
    [{ NO_COLOR: "" }, true, true],
    [{ FORCE_COLOR: "1" }, false, true],
    [{ FORCE_COLOR: "0" }, true, false],
    [{ FORCE_COLOR: "1", NO_COLOR: "1" }, true, false],
  ])("with %j on a terminal (%p): %p", (env, isTerminal, expected) => {
    expect(wantsColour(env, isTerminal)).toBe(expected);
  });

  test("is around the text where it is wanted, and nowhere else", () => {
    expect(createStyle(true).bad("no")).toBe("\u001b[31mno\u001b[39m");
    expect(createStyle(false).bad("no")).toBe("no");
  });
});

/** A person at a terminal who types one line. */
function person(line: string) {
  const said: string[] = [];
  const printed: string[] = [];
  const input = {
    isTerminal: true,
    stream: async function* () {},
    line: async () => line,
    terminal: () => ({ input: process.stdin, output: process.stdout }),
  };
  const shell: Pick<Shell, "input" | "print" | "say"> = {
    input,
    print: (text) => printed.push(text),
    say: (text) => said.push(text),
  };
  return { said, printed, shell };
}

describe("before something is removed", () => {
  test.each([
    ["y", true],
    ["Yes ", true],
    ["", false],
    ["n", false],
    ["yesterday", false],
  ])("a person is asked, and %p means %p", async (line, isMeant) => {
    const { shell, said, printed } = person(line);
    expect(await isConfirmed(shell, new Command(), "remove the model m.gguf")).toBe(isMeant);
    expect(said).toEqual(["Remove the model m.gguf? [y/N] "]);
    expect(printed).toEqual(isMeant ? [] : ["Nothing was removed.\n"]);
  });

  test("a script must say so beforehand", async () => {
    const { shell } = person("y");
    const away = { ...shell, input: { ...shell.input, isTerminal: false } };
    await expect(isConfirmed(away, new Command(), "remove the model m.gguf")).rejects.toThrow(
      "This would remove the model m.gguf. Nobody is here to ask; say --yes.",
    );
  });
});
