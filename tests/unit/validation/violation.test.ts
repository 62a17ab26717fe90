import { describe, expect, test } from "bun:test";
import { Type as T, type TSchema } from "@sinclair/typebox";
import { findViolation, formatPath } from "../../../src/validation/violation.ts";

const Part = T.Object({ type: T.Literal("text"), text: T.String() });
const Shape = T.Object(
  {
    name: T.String({ minLength: 1 }),
    size: T.Optional(T.Union([T.Number({ minimum: 0, maximum: 2 }), T.Null()])),
    parts: T.Optional(T.Union([T.String(), T.Array(Part, { minItems: 1 })])),
  },
  { additionalProperties: false },
);

describe("a value that fits its schema", () => {
  test.each([
    { name: "a" },
    { name: "a", size: 0 },
    { name: "a", size: null, parts: "text" },
    { name: "a", parts: [{ type: "text", text: "" }] },
  ])("has no violation: %j", (value) => {
    expect(findViolation(Shape, value)).toBeUndefined();
  });
});

describe("the first violation", () => {
  test("tells a key that is missing", () => {
    expect(findViolation(Shape, {})).toEqual({
      path: ["name"],
      expected: "a string that is not empty",
      found: "nothing",
      kind: "missing",
      knownKeys: [],
    });
  });

  test("tells a key that is unknown, with those that are known", () => {
    expect(findViolation(Shape, { name: "a", extra: 1 })).toEqual({
      path: ["extra"],
      expected: expect.any(String),
      found: "1",
      kind: "unknown",
      knownKeys: ["name", "size", "parts"],
    });
  });

  test.each([
    T.Record(T.String(), T.String(), { maxProperties: 1 }),
    T.Union([T.Record(T.String(), T.String(), { maxProperties: 1 }), T.Null()]),
  ])("tells an object of too many pairs", (pairs) => {
    expect(findViolation(T.Object({ pairs }), { pairs: { a: "b", c: "d" } })).toMatchObject({
      path: ["pairs"],
      expected: "an object of at most 1 pairs",
      found: "an object of 2",
      kind: "wrong",
    });
  });

  test("names every variant of a union that none was meant of", () => {
    expect(findViolation(Shape, { name: "a", size: "big" })).toEqual({
      path: ["size"],
      expected: "a number from 0 to 2 or null",
      found: "'big'",
      kind: "wrong",
      knownKeys: [],
    });
  });

  test("names the one variant whose type was right and whose bound was not", () => {
    expect(findViolation(Shape, { name: "a", size: 3 })).toMatchObject({
      path: ["size"],
      expected: "a number from 0 to 2",
      found: "3",
    });
    expect(findViolation(Shape, { name: "a", parts: [] })).toMatchObject({
      path: ["parts"],
      expected: "a list of at least 1",
      found: "a list of 0",
    });
  });

  test("goes inside the variant that was meant", () => {
    const parts = [{ type: "text", text: "a" }, { type: "text" }];
    expect(findViolation(Shape, { name: "a", parts })).toEqual({
      path: ["parts", 1, "text"],
      expected: "a string",
      found: "nothing",
      kind: "missing",
      knownKeys: [],
    });
  });

  test("goes inside a list of objects of one type to the one of another", () => {
    const parts = [{ type: "image", text: "a" }];
    expect(findViolation(Shape, { name: "a", parts })).toMatchObject({
      ...{ path: ["parts", 0, "type"], expected: "'text'", found: "'image'" },
    });
  });

  test("takes the variant that fitted furthest for the one that was meant", () => {
    const schema = T.Union([T.Array(T.Integer()), T.Array(T.Object({ size: T.Integer() }))]);
    expect(findViolation(schema, [{ size: "big" }])).toMatchObject({
      path: [0, "size"],
      expected: "an integer",
      found: "'big'",
    });
  });

  test("finds the place in keys that hold the pointer's own marks", () => {
    const schema = T.Record(T.String(), T.Integer());
    expect(findViolation(schema, { "a/b~c": "x" })?.path).toEqual(["a/b~c"]);
  });
});

describe("a long list", () => {
  const Inputs = T.Union([
    T.Array(T.String(), { minItems: 1 }),
    T.Array(T.Integer(), { minItems: 1 }),
    T.Array(T.Array(T.Integer(), { minItems: 1 })),
  ]);

  test("of which every item is wrong is judged by its first few", () => {
    let looked = 0;
    const wrong = new Proxy(
      Array.from({ length: 100_000 }, () => true),
      {
        get(items, key) {
          looked++;
          return Reflect.get(items, key);
        },
      },
    );
    expect(findViolation(Inputs, wrong)).toMatchObject({ path: [0], found: "true" });
    expect(looked).toBeLessThan(1000);
  });

  test("is gone through to the one item that is wrong", () => {
    const tokens: unknown[] = Array.from({ length: 50_000 }, () => 7);
    expect(findViolation(Inputs, [...tokens, "x"])).toMatchObject({
      path: [50_000],
      expected: "an integer",
      found: "'x'",
    });
  });
});

describe("what is expected", () => {
  test.each<[TSchema, string]>([
    [T.String(), "a string"],
    [T.Boolean(), "true or false"],
    [T.Integer(), "an integer"],
    [T.Integer({ minimum: 1 }), "an integer of at least 1"],
    [T.Number({ maximum: 5 }), "a number of at most 5"],
    [T.Array(T.String(), { minItems: 1, maxItems: 3 }), "a list from 1 to 3"],
    [T.Null(), "null"],
    [T.Object({}), "an object"],
    [T.Union([T.Literal("a"), T.Literal(1)]), "'a' or 1"],
    [T.Union([T.Integer(), T.Integer()]), "an integer"],
    [T.String({ "x-expected": "a colour" }), "a colour"],
  ])("is said for a person: %j", (schema, expected) => {
    expect(findViolation(schema, Symbol("nothing fits"))?.expected).toBe(expected);
  });
});

describe("what was found", () => {
  test.each<[unknown, string]>([
    [undefined, "nothing"],
    [null, "null"],
    [false, "false"],
    [0, "0"],
    ["", "''"],
    [[1, 2], "a list of 2"],
    [{ a: 1 }, "an object"],
    ["x".repeat(40), `'${"x".repeat(40)}'`],
    ["x".repeat(41), `'${"x".repeat(40)}…'`],
  ])("is said shortly: %j", (value, found) => {
    expect(findViolation(T.Literal("nothing fits"), value)?.found).toBe(found);
  });
});

test("a path is written as a program would", () => {
  expect(formatPath([])).toBe("");
  expect(formatPath(["messages", 0, "content", 12, "text"])).toBe("messages[0].content[12].text");
  expect(formatPath(["logit_bias", "17"])).toBe("logit_bias[17]");
});

test("a path is no longer than one can read, whatever keys it has", () => {
  expect(formatPath(["a", "x".repeat(1e6)])).toBe(`a.${"x".repeat(64)}…`);
});
