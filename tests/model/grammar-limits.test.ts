import { describe, expect, test } from "bun:test";
import { NodeError } from "../../src/core/errors.ts";
import { rejectionOf } from "../support/rejection.ts";
import { ajv, expectToHold, favour, generate, useTinyModel } from "./schema-answers.ts";

useTinyModel();

/** Two assertions on one value: to be held both, or refused. */
const combined: Record<string, object> = {
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
  "allOf with an unsupported keyword in a part": {
    allOf: [
      { type: "object", properties: { a: { type: "boolean" } }, required: ["a"] },
      { type: "object", properties: {}, not: { properties: { a: { const: true } } } },
    ],
  },
  "$ref beside a bound": {
    $ref: "#/$defs/n",
    maximum: 3,
    $defs: { n: { type: "integer", minimum: 0, maximum: 99 } },
  },
  "anyOf beside a type": { type: "integer", anyOf: [{ minimum: 90, maximum: 99 }] },
  "anyOf beside a bound": { anyOf: [{ type: "integer" }], minimum: 90, maximum: 99 },
  "anyOf beside a type of string": { type: "string", anyOf: [{ format: "date" }] },
  "anyOf beside oneOf": {
    anyOf: [{ type: "boolean" }, { type: "integer" }],
    oneOf: [{ type: "boolean" }],
  },
  "oneOf with options that overlap": {
    oneOf: [
      { type: "integer", minimum: 0, maximum: 5 },
      { type: "integer", minimum: 3, maximum: 9 },
    ],
  },
  "an enum beside a type": { type: "integer", enum: [1, "one", 2] },
  "a const beside an enum": { const: 1, enum: [2] },
  "a pattern beside a format": { type: "string", pattern: "^[0-9-]{10}$", format: "date" },
  "minItems over prefixItems": {
    type: "array",
    prefixItems: [{ type: "boolean" }],
    minItems: 2,
  },
  "maxItems under prefixItems": {
    type: "array",
    prefixItems: [{ type: "boolean" }, { type: "boolean" }],
    maxItems: 1,
  },
  "unevaluatedProperties without properties": { type: "object", unevaluatedProperties: false },
};

describe("assertions that meet are held together, or refused:", () => {
  test.each(Object.entries(combined))("%s", async (_, schema) => {
    try {
      await expectToHold(schema);
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      expect(error.kind).toBe("invalid_request");
    }
  });
});

describe("a keyword says something of its own type where no type is given, or is refused:", () => {
  const text = favour([60, '"']);
  const list = favour([60, "["], [90, "]"]);
  const map = favour([60, "{"], [90, "}"]);
  const number = favour([60, "0"]);
  const cases: [string, object, Map<number, number>][] = [
    ["format", { format: "date" }, text],
    ["minLength", { minLength: 2, maxLength: 4 }, text],
    ["minItems", { minItems: 1, maxItems: 2 }, list],
    ["required", { required: ["a"] }, map],
    ["exclusiveMinimum", { exclusiveMinimum: 1e9, exclusiveMaximum: 2e9 }, number],
  ];

  test.each(cases)("%s", async (_, schema, logitBias) => {
    const outcome = await generate(schema, 1, logitBias).catch((error: unknown) => error);
    if (outcome instanceof NodeError) return;
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
    ["propertyNames", { propertyNames: {} }],
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
    ["required", { type: "object", properties: {}, required: ["b"] }],
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
      param: "response_format.json_schema.schema",
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
