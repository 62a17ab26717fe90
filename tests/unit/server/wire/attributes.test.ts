import { describe, expect, test } from "bun:test";
import { toFilter } from "../../../../src/server/wire/attributes.ts";

const eq = { type: "eq", key: "a", value: 1 };

function nested(depth: number): unknown {
  return depth === 1 ? eq : { type: "and", filters: [nested(depth - 1)] };
}

describe("a filter from the wire", () => {
  test("is read with what is in it", () => {
    const wire = {
      type: "or",
      filters: [eq, { type: "nin", key: "b", value: ["x", 2] }, { type: "and", filters: [eq] }],
    };
    expect(toFilter(wire, "filters")).toEqual({
      type: "or",
      filters: [
        { type: "eq", key: "a", value: 1 },
        { type: "nin", key: "b", values: new Set(["x", 2]) },
        { type: "and", filters: [{ type: "eq", key: "a", value: 1 }] },
      ],
    });
  });

  const refused: [what: string, wire: unknown, param: string][] = [
    ["no object", "eq", "filters"],
    ["an unknown type", { type: "like", key: "a", value: "b" }, "filters.type"],
    ["no key", { type: "eq", value: 1 }, "filters.key"],
    ["an empty key", { type: "eq", key: "", value: 1 }, "filters.key"],
    ["no value", { type: "eq", key: "a" }, "filters.value"],
    ["a number beyond all", { type: "lt", key: "a", value: Infinity }, "filters.value"],
    ["a list for one value", { type: "eq", key: "a", value: [1] }, "filters.value"],
    ["a value for a list", { type: "in", key: "a", value: 1 }, "filters.value"],
    ["an empty list", { type: "in", key: "a", value: [] }, "filters.value"],
    ["a list too long", { type: "in", key: "a", value: Array(257).fill(1) }, "filters.value"],
    ["a list of lists", { type: "in", key: "a", value: [[1]] }, "filters.value[0]"],
    ["a text too long", { type: "eq", key: "a", value: "x".repeat(513) }, "filters.value"],
    ["no filters", { type: "and" }, "filters.filters"],
    ["an empty list of filters", { type: "and", filters: [] }, "filters.filters"],
    ["too many filters", { type: "or", filters: Array(65).fill(eq) }, "filters.filters"],
    ["a fault inside", { type: "or", filters: [eq, { type: "x" }] }, "filters.filters[1].key"],
    ["too many levels", nested(9), `filters${".filters[0]".repeat(8)}`],
  ];
  test.each(refused)("is refused by name: %s", (_what, wire, param) => {
    expect(() => toFilter(wire, "filters")).toThrow(expect.objectContaining({ param }));
  });

  test("may be as deep and as many as is said", () => {
    expect(() => toFilter(nested(8), "filters")).not.toThrow();
    expect(() => toFilter({ type: "or", filters: Array(63).fill(eq) }, "filters")).not.toThrow();
  });
});
