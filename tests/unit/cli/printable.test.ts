import { expect, test } from "bun:test";
import { printable, printableJson, printableName } from "../../../src/cli/printable.ts";
import { createStyle } from "../../../src/cli/style.ts";
import { toTable } from "../../../src/cli/table.ts";

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
