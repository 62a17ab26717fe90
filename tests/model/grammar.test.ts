import { describe, expect, test } from "bun:test";
import { stringFormats } from "../../src/engine/grammar/scalars.ts";
import { repetitive } from "../unit/engine/grammar/hostile-schemas.ts";
import { expectToHold, generate, useTinyModel } from "./schema-answers.ts";

useTinyModel();

const word = { type: "string", maxLength: 6 };
const object = (properties: object, required: string[] = []) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const tree = {
  ...object({ name: word, children: { type: "array", items: { $ref: "#" }, maxItems: 2 } }, [
    "name",
  ]),
};

const schemas: Record<string, object | boolean> = {
  "a bounded string": { type: "string", minLength: 3, maxLength: 8 },
  "a pattern": { type: "string", pattern: "^[A-Z]{2}-[0-9]{3}(x|y)?$" },
  "an integer": { type: "integer" },
  "an integer in a range": { type: "integer", minimum: -3, exclusiveMaximum: 12 },
  "an integer over a bound": { type: "integer", exclusiveMinimum: 97.5 },
  "a number": { type: "number" },
  "a number in a range": { type: "number", minimum: -2, maximum: 3 },
  "a boolean": { type: "boolean" },
  null: { type: "null" },
  "a nullable string": { ...word, type: ["string", "null"] },
  "a type list with bounds": { type: ["integer", "boolean"], minimum: 5, maximum: 7 },
  "an enum of awkward strings": { enum: ['"', "\\", '\\"', "naïve ☃ 😀", "\n\t\u0000\u007f", ""] },
  "an enum of any values": { enum: [1, -0.5, null, true, { a: [1, "}"] }, []] },
  "a const": { const: { "a b": ['"\\', null] } },
  "any of several": { anyOf: [{ type: "integer" }, word, { type: "null" }] },
  "one of several": { oneOf: [object({ a: word }, ["a"]), object({ b: word }, ["b"])] },
  "an empty object": object({}),
  "an object of required properties": object({ a: word, b: { type: "integer" } }, ["a", "b"]),
  "an object with awkward keys": object(
    { 'a"b': { type: "boolean" }, "c\\d": { type: "null" }, "é ☃": { const: 1 }, "": { const: 2 } },
    ['a"b', "c\\d", "é ☃", ""],
  ),
  "properties named as the grammar's own rules": object(
    {
      root: { const: "r" },
      space: { const: "s" },
      string: { const: "t" },
      call: { const: "c" },
      schema: { const: "m" },
      members: { const: "n" },
    },
    ["root", "space", "string", "call", "schema", "members"],
  ),
  "a map": { type: "object", additionalProperties: { type: "integer" }, maxProperties: 2 },
  "a list": { type: "array", items: { type: "boolean" }, minItems: 2, maxItems: 4 },
  "an empty list": { type: "array", items: word, maxItems: 0 },
  "a tuple": { type: "array", prefixItems: [word, { type: "integer" }], items: false },
  "a tuple that goes on": {
    type: "array",
    prefixItems: [{ type: "boolean" }],
    items: { type: "integer" },
    minItems: 2,
    maxItems: 4,
  },
  "nested objects and lists": object(
    { list: { type: "array", maxItems: 2, items: object({ in: object({ x: word }, ["x"]) }) } },
    ["list"],
  ),
  "a definition": {
    ...object({ from: { $ref: "#/$defs/place~1x" }, to: { $ref: "#/$defs/place~1x" } }, ["from"]),
    $defs: { "place/x": object({ city: word }, ["city"]) },
  },
  "a pointer into a list": {
    ...object({ a: { $ref: "#/$defs/one/anyOf/1" } }, ["a"]),
    $defs: { one: { anyOf: [{ type: "null" }, { type: "integer", minimum: 5, maximum: 6 }] } },
  },
  "a pointer with escapes": {
    ...object({ a: { $ref: "#/$defs/x~0y~1%7Bz%7D%20%C3%A9" } }, ["a"]),
    $defs: { "x~y/{z} é": { type: "boolean" } },
  },
  "a recursive document": tree,
  "a recursive definition": {
    $ref: "#/$defs/node",
    $defs: {
      node: object({ next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] } }, ["next"]),
    },
  },
  "a recursive choice, told apart by its first property": {
    $ref: "#/$defs/term",
    $defs: {
      term: {
        anyOf: [
          object({ op: { const: "not" }, of: { $ref: "#/$defs/term" } }, ["op", "of"]),
          object({ op: { const: "is" }, word }, ["op", "word"]),
          { type: "boolean" },
        ],
      },
    },
  },
  "all of several objects": {
    allOf: [object({ a: word }, ["a"]), { $ref: "#/$defs/b" }].map(({ ...part }) => ({
      ...part,
      additionalProperties: true,
    })),
    $defs: { b: { type: "object", properties: { b: { type: "integer" } }, required: ["b"] } },
  },
  "all of one": { allOf: [{ type: "integer", minimum: 3, maximum: 4 }] },
  "annotations that assert nothing": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "T",
    description: "D",
    default: 1,
    examples: [1],
    deprecated: true,
    readOnly: true,
    type: "boolean",
  },
  "a type that is implied": { properties: { a: { minimum: 2, maximum: 5 } }, required: ["a"] },
};

describe("an answer held to a schema always validates:", () => {
  test.each(Object.entries(schemas))("%s", async (_, schema) => {
    await expectToHold(schema);
  });

  test.each(Object.keys(stringFormats))("the format %s", async (format) => {
    await expectToHold({ type: "string", format });
  });

  const names = ["a", "b", "c"];
  const combinations = Array.from({ length: 8 }, (_, bits) =>
    names.filter((_, at) => (bits & (1 << at)) !== 0),
  );
  test.each(combinations.map((required) => [required]))(
    "three properties of which %j are required",
    async (required) => {
      const flag = { type: "boolean" };
      await expectToHold(object({ a: flag, b: flag, c: flag }, required));
    },
  );

  test("a schema of true, which is any JSON", async () => {
    const answers = await Promise.all([1, 2, 3].map((seed) => generate(true, seed)));
    const finished = answers.filter(({ reason }) => reason === "stop");
    expect(finished.map(({ text }) => typeof JSON.parse(text))).toHaveLength(finished.length);
    expect(finished.length).toBeGreaterThan(0);
  });

  test("and null, where OpenAPI's nullable is set", async () => {
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, seed) => generate({ const: 1, nullable: true }, seed)),
    );
    expect(answers.every(({ text }) => text === "1" || text === "null")).toBe(true);
  });
});

test.each(Object.keys(repetitive))("llama.cpp parses the grammar of %s", async (name) => {
  const { text } = await generate(repetitive[name], 1, undefined, 8);
  expect(text).not.toBe("");
});
