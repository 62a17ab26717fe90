import { expect, test } from "bun:test";
import { lastLine } from "../../../src/subprocess/last-line.ts";

test.each([
  ["loading\nout of memory\n\n", "out of memory"],
  ["one line", "one line"],
  ["", ""],
])("the last line of %j is %j", (output, line) => {
  expect(lastLine(output)).toBe(line);
});
