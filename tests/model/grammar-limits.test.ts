import { describe, expect, test } from "bun:test";
import { rejectionOf } from "../support/rejection.ts";
import { ajv, expectToHold, favour, generate, useTinyModel } from "./schema-answers.ts";

useTinyModel();

/** Two assertions on one value that are held both. */
const held: Record<string, object> = {
  "allOf with a bound of its own": { allOf: [{ type: "integer" }, { minimum: 90, maximum: 99 }] },
  "allOf beside a type": { type: "string", allOf: [{ maxLength: 2 }] },
  "allOf with anyOf in it": {
    type: "object",
    properties: { a: { type: "boolean" } },
    required: ["a"],
    allOf: [{ anyOf: [{ properties: { a: { const: true } } }] }],
  },
  "allOf that bounds one property twice": {
    allOf: [
      { type: "object", properties: { a: { type: "integer" } }, required: ["a"] },
      { type: "object", properties: { a: { minimum: 90, maximum: 99 } } },
    ],
  },
  "allOf with a reference to a reference": {
    allOf: [{ $ref: "#/$defs/a" }],
    $defs: { a: { $ref: "#/$defs/b" }, b: { type: "integer", minimum: 5, maximum: 6 } },
  },
  "$ref beside a bound": {
    $ref: "#/$defs/n",
    maximum: 3,
    $defs: { n: { type: "integer", minimum: 0, maximum: 99 } },
  },
  "anyOf beside a type": { type: "integer", anyOf: [{ minimum: 90, maximum: 99 }] },
  "anyOf beside a bound": { anyOf: [{ type: "integer" }], minimum: 90, maximum: 99 },
  "anyOf beside a type of string": { type: "string", anyOf: [{ format: "date" }] },
  "an enum beside a type": { type: "integer", enum: [1, "one", 2] },
  "propertyNames of any text beside additionalProperties": {
    type: "object",
    propertyNames: { type: "string" },
    additionalProperties: { type: "boolean" },
    minProperties: 1,
    maxProperties: 2,
  },
  "propertyNames that assert nothing": {
    type: "object",
    properties: { a: { type: "boolean" } },
    required: ["a"],
    additionalProperties: false,
    propertyNames: {},
  },
  "minItems over prefixItems": {
    type: "array",
    prefixItems: [{ type: "boolean" }],
    minItems: 2,
  },
  "unevaluatedProperties without properties": { type: "object", unevaluatedProperties: false },
};

/** Two assertions on one value that cannot both be held, and where the refusal points to. */
const refused: Record<string, [at: string, schema: object]> = {
  "allOf with an unsupported keyword in a part": [
    "allOf/not",
    {
      allOf: [
        { type: "object", properties: { a: { type: "boolean" } }, required: ["a"] },
        { type: "object", properties: {}, not: { properties: { a: { const: true } } } },
      ],
    },
  ],
  "anyOf beside oneOf": [
    "anyOf/1/oneOf/0",
    {
      anyOf: [{ type: "boolean" }, { type: "integer" }],
      oneOf: [{ type: "boolean" }],
    },
  ],
  "oneOf with options that overlap": [
    "oneOf",
    {
      oneOf: [
        { type: "integer", minimum: 0, maximum: 5 },
        { type: "integer", minimum: 3, maximum: 9 },
      ],
    },
  ],
  "a const beside an enum": ["enum", { const: 1, enum: [2] }],
  "a pattern beside a format": [
    "pattern",
    { type: "string", pattern: "^[0-9-]{10}$", format: "date" },
  ],
  "maxItems under prefixItems": [
    "maxItems",
    {
      type: "array",
      prefixItems: [{ type: "boolean" }, { type: "boolean" }],
      maxItems: 1,
    },
  ],
};

describe("assertions that meet", () => {
  test.each(Object.entries(held))("are held together: %s", async (_, schema) => {
    await expectToHold(schema);
  });

  test.each(Object.entries(refused))("are refused by name: %s", async (_, [at, schema]) => {
    expect(await rejectionOf(generate(schema, 1))).toMatchObject({
      name: "NodeError",
      kind: "invalid_request",
      subject: { part: "schema" },
      message: expect.stringContaining(`'${at}'`),
    });
  });
});

describe("a keyword says something of its own type where no type is given:", () => {
  const text = favour([60, '"']);
  const list = favour([60, "["], [90, "]"]);
  const cases: [string, object, Map<number, number>][] = [
    ["format", { format: "date" }, text],
    ["minLength", { minLength: 2, maxLength: 4 }, text],
    ["minItems", { minItems: 1, maxItems: 2 }, list],
  ];

  test.each(cases)("%s", async (_, schema, logitBias) => {
    const { text: answer, reason } = await generate(schema, 1, logitBias);
    expect({ answer, reason, valid: ajv.validate(schema, JSON.parse(answer)) }).toEqual({
      answer,
      reason: "stop",
      valid: true,
    });
  });
});

describe("a schema that cannot be held is refused by its keyword:", () => {
  const inside = (schema: unknown) => ({ type: "object", properties: { a: schema } });
  const keywords: [string, unknown][] = [
    ["not", { not: {} }],
    ["if", { if: {} }],
    ["contains", { contains: {} }],
    ["dependentRequired", { dependentRequired: {} }],
    ["dependentSchemas", { dependentSchemas: {} }],
    ["patternProperties", { patternProperties: {} }],
    ["propertyNames", { propertyNames: { maxLength: 3 } }],
    ["propertyNames", { propertyNames: false }],
    ["multipleOf", { type: "integer", multipleOf: 2 }],
    ["unevaluatedItems", { unevaluatedItems: false }],
    ["$dynamicRef", { $dynamicRef: "#x" }],
    ["uniqueItems", { type: "array", uniqueItems: true }],
    ["type", { type: "text" }],
    ["type", { type: [] }],
    ["enum", { enum: [] }],
    ["anyOf", { anyOf: [] }],
    ["allOf", { allOf: [{ type: "integer" }, { type: "string" }] }],
    ["$ref", { $ref: "https://example.com/schema" }],
    ["$ref", { $ref: "#/$defs/missing" }],
    ["$ref", { $ref: "#/%zz" }],
    ["required", { type: "object", properties: {}, required: ["b"] }],
    ["required", { required: ["b"] }],
    ["exclusiveMinimum", { exclusiveMinimum: 1e9, exclusiveMaximum: 2e9 }],
    ["minProperties", { type: "object", properties: { b: true }, minProperties: 1 }],
    ["maximum", { type: "integer", minimum: 3, maximum: 2 }],
    ["maximum", { type: "number", minimum: 3, maximum: 2 }],
    ["minimum", { type: "number", minimum: 0.5 }],
    ["exclusiveMaximum", { type: "number", exclusiveMaximum: 1 }],
    ["maxLength", { type: "string", minLength: 3, maxLength: 2 }],
    ["maxItems", { type: "array", minItems: 3, maxItems: 2 }],
    ["pattern", { type: "string", pattern: "(?=x)" }],
    ["format", { type: "string", format: "smell" }],
    ["items", { type: "array", items: [{ type: "integer" }] }],
  ];

  test.each(keywords)("%s in %j", async (keyword, schema) => {
    expect(await rejectionOf(generate(inside(schema), 1))).toMatchObject({
      name: "NodeError",
      kind: "invalid_request",
      subject: { part: "schema" },
      message: expect.stringContaining(`'properties/a/${keyword}'`),
    });
  });

  test.each([[false], [null], ["string"], [[]], [7]])("%j is no schema at all", async (schema) => {
    expect(await rejectionOf(generate(schema, 1))).toMatchObject({
      kind: "invalid_request",
      message: expect.stringContaining("The schema is not a schema"),
    });
  });

  test("a document that is only a reference to itself", async () => {
    expect(await rejectionOf(generate({ $ref: "#" }, 1))).toMatchObject({
      kind: "invalid_request",
    });
  });

  test("a schema that is nested too deeply", async () => {
    let deep: object = { type: "boolean" };
    for (let level = 0; level < 80; level++) deep = { type: "array", items: deep };
    expect(await rejectionOf(generate(deep, 1))).toMatchObject({
      kind: "invalid_request",
      message: expect.stringContaining("nested deeper"),
    });
  });
});
