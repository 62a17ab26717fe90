import { describe, expect, test } from "bun:test";
import { createStyle, wantsColour } from "../../../src/cli/style.ts";

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
