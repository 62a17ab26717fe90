import { expect, test } from "bun:test";
import { printable } from "../../../src/cli/printable.ts";

test("text is shown as it is, and what moves the cursor is not", () => {
  expect(printable("Füße\t👣\nnext")).toBe("Füße\t👣\nnext");
  expect(printable("\u001b[2J\u009b31m\u0007\r")).toBe("\uFFFD[2J\uFFFD31m\uFFFD\uFFFD");
});
