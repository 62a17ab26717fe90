import { describe, expect, test } from "bun:test";
import { deepestNesting, JsonSize, mostKeys, mostValues } from "../../../src/core/json-size.ts";

const add = (text: string) => new JsonSize().add(new TextEncoder().encode(text));
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
const list = (items: number): string => `[${Array.from({ length: items }, () => 1).join()}]`;
const members = (count: number): string =>
  Array.from({ length: count }, (_, at) => `"${at}":1`).join();

describe("a JSON text", () => {
  test.each([
    ["null"],
    ['""'],
    [`{"a":${nested(deepestNesting - 1)}}`],
    [`{"a":${list(mostValues - 4)}}`],
    [`{${members(mostKeys)}}`],
    // In a text nothing counts, whatever it is made of.
    [JSON.stringify({ a: '[{":,'.repeat(mostValues), b: "\\" })],
    [
      JSON.stringify([
        "x".repeat(1000),
        `${"x".repeat(1000)}\\`,
        `${'\\"'.repeat(500)}[[`,
        nested(300),
      ]),
    ],
    ["not JSON at all"],
    ['"a text without an end'],
    ['"a text that ends in an escape\\'],
    ["]]]]"],
  ])("within the bounds is taken (%#)", (text) => {
    expect(add(text)).toBeUndefined();
  });

  test.each([
    [nested(deepestNesting + 1), "nesting", undefined],
    [`{"a":1,"b":${nested(deepestNesting)}}`, "nesting", "b"],
    [`{"a":{"x":1},"\\u0062\\"":${nested(deepestNesting)}}`, "nesting", 'b"'],
    [`${"[".repeat(10_000_000)}`, "nesting", undefined],
    [`{"a":"x","b":${list(mostValues)}}`, "values", "b"],
    [`{"a":[{},${members(mostKeys).replace(/^|,/g, "$&{").replace(/:1/g, "$&}")}]}`, "keys", "a"],
    [list(mostValues), "values", undefined],
  ] as const)("beyond one says which, and in which field (%#)", (text, what, field) => {
    expect(add(text)).toEqual({ what, field });
  });

  test("is looked at in slices all the same, and others get their turn between", async () => {
    const text = new TextEncoder().encode(`{"a":${" ".repeat(8e6)}"[[","b":${nested(300)}}`);
    let turns = 0;
    const turn = setInterval(() => turns++, 0);
    expect(await new JsonSize().addInSlices(text)).toEqual({ what: "nesting", field: "b" });
    clearInterval(turn);
    expect(turns).toBeGreaterThan(0);
    const small = new TextEncoder().encode('{"a":[1]}');
    expect(await new JsonSize().addInSlices(small)).toBeUndefined();
  });

  test("counts with those before it", () => {
    const size = new JsonSize();
    const half = new TextEncoder().encode(list(mostValues / 2));
    expect(size.add(half)).toBeUndefined();
    expect(size.add(half)).toEqual({ what: "values", field: undefined });
  });
});
