import { describe, expect, test } from "bun:test";
import { loosened } from "../../../../src/engine/grammar/grammars.ts";
import { Budget, mostSchemaSteps } from "../../../../src/engine/grammar/limits.ts";

const loosen = (schema: object): object => loosened(schema, { part: "tools", at: 0 }, new Budget());
const object = (properties: object, more: object = {}) => ({
  type: "object",
  properties,
  additionalProperties: false,
  ...more,
});

describe("a schema that is loosened", () => {
  test("is the same where all of it can be held", () => {
    const schema = object({ a: { type: "string", maxLength: 4 } }, { required: ["a"] });
    expect(loosen(schema)).toBe(schema);
  });

  test("loses what cannot be held, and nothing else", () => {
    const schema = object(
      {
        script: { type: "string", maxLength: 524_288, description: "A script" },
        to: { type: "string", pattern: "^[a-z]+$", allOf: [{ pattern: "^[^.]+$" }] },
        odd: { not: { type: "string" }, enum: ["a"] },
        list: { type: "array", items: { type: "integer", multipleOf: 2 }, uniqueItems: true },
        either: { anyOf: [{ type: "string" }, { if: {}, type: "boolean" }] },
        kept: { type: "integer", minimum: 1, maximum: 9 },
      },
      { required: ["script", "kept"] },
    );
    const before = structuredClone(schema);
    expect(loosen(schema)).toEqual(
      object(
        {
          script: { type: "string", description: "A script" },
          to: { type: "string", pattern: "^[a-z]+$" },
          odd: { enum: ["a"] },
          list: { type: "array", items: { type: "integer" } },
          either: { anyOf: [{ type: "string" }, { type: "boolean" }] },
          kept: { type: "integer", minimum: 1, maximum: 9 },
        },
        { required: ["script", "kept"] },
      ),
    );
    expect(schema).toEqual(before);
  });

  test("loses it behind a reference too", () => {
    const schema = (deep: object) =>
      object({ a: { $ref: "#/$defs/a~1b" } }, { $defs: { "a/b": { type: "string", ...deep } } });
    expect(loosen(schema({ maxLength: 9999 }))).toEqual(schema({}));
  });

  test("loses a reference to nowhere, and requirements of nothing", () => {
    expect(loosen(object({ a: { $ref: "#/$defs/none" } }, { required: ["b"] }))).toEqual(
      object({ a: {} }),
    );
  });

  test("lets properties be there that cannot be described, one or all", () => {
    expect(loosen(object({ a: 7, properties: 8 }, { required: ["a"] }))).toEqual(
      object({ a: {}, properties: {} }, { required: ["a"] }),
    );
    const many = Array.from({ length: 600 }, (_, at) => [`p${at}`, {}] as const);
    expect(loosen(object(Object.fromEntries(many), { required: ["p1"] }))).toEqual({
      type: "object",
    });
  });

  test("is any object where too much of it cannot be held", () => {
    const many = Array.from({ length: 40 }, (_, at) => [`p${at}`, { not: {} }] as const);
    expect(loosen(object(Object.fromEntries(many)))).toEqual({ type: "object" });
  });

  test("is any object where it takes too long, and so are those that come after it", () => {
    const items = Array.from({ length: mostSchemaSteps }, (_, at) => ({ const: at }));
    const long = object({ a: { type: "array", prefixItems: items } });
    const budget = new Budget();
    expect(loosened(long, { part: "tools", at: 0 }, budget)).toEqual({ type: "object" });
    const simple = object({ a: { type: "string" } });
    expect(loosened(simple, { part: "tools", at: 1 }, budget)).toEqual({ type: "object" });
  });
});
