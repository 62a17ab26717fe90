import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { NodeError } from "../../../../src/core/errors.ts";
import { JsonSchemaCompiler } from "../../../../src/engine/grammar/json-schema.ts";
import {
  mostGrammarCharacters,
  mostGrammarElements,
  mostLeftmostReads,
  mostSchemaSteps,
  OverBudget,
} from "../../../../src/engine/grammar/limits.ts";
import { checkNativeCost } from "../../../../src/engine/grammar/native-cost.ts";
import { GrammarRules } from "../../../../src/engine/grammar/rules.ts";
import { GbnfMachine } from "./gbnf-machine.ts";
import { excessive, repetitive } from "./hostile-schemas.ts";

/** What became of a schema, and the steps that it took; `refusal` is what the caller hears. */
function compile(schema: unknown): { grammar?: string; refusal?: unknown; steps: number } {
  const rules = new GrammarRules();
  const outcome = attempt(() => {
    const { rule } = new JsonSchemaCompiler(rules, schema, { part: "schema" }).compile();
    const grammar = rules.toString(rule);
    checkNativeCost(grammar);
    return { grammar };
  });
  return { ...outcome, steps: rules.budget.steps };
}

function attempt<Made>(make: () => Made): Made | { refusal: unknown } {
  try {
    return make();
  } catch (refusal) {
    return { refusal };
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof OverBudget ||
  (error instanceof NodeError &&
    error.kind === "invalid_request" &&
    error.subject?.part === "schema");

describe("a value that cannot be made a text is refused by name:", () => {
  const text = { toString: 1 };
  test.each([
    { type: text },
    { type: [text] },
    { type: "string", pattern: text },
    { type: "string", format: text },
    { type: "object", required: [text] },
    {
      oneOf: [
        { type: "object", additionalProperties: false },
        { type: "object", required: [text] },
      ],
    },
  ])("%j", (schema) => {
    const { refusal } = compile(schema);
    expect([refusal, isRefusal(refusal)]).toEqual([refusal, true]);
  });
});

describe("the work for a schema is bounded:", () => {
  // Before there were bounds some of these took seconds, and others would not have ended in a lifetime.
  test.each(Object.entries(repetitive))("%s is compiled", (_, schema) => {
    const { grammar = "", refusal, steps } = compile(schema);
    expect(refusal).toBeUndefined();
    expect(steps).toBeLessThanOrEqual(mostSchemaSteps);
    expect(grammar.length).toBeLessThanOrEqual(2 * mostGrammarCharacters);
  });

  test.each(Object.entries(excessive))("%s is refused", (_, schema) => {
    const { refusal } = compile(schema);
    expect([refusal, isRefusal(refusal)]).toEqual([refusal, true]);
    // A caller's own long texts do not come back whole.
    expect(String(refusal).length).toBeLessThan(1000);
  });

  test("a refusal names the field and the limit", () => {
    const { refusal } = compile(excessive["more values than a grammar holds"]);
    expect(String(refusal)).toContain(`The schema takes more than ${mostSchemaSteps} steps`);
  });

  test("many schemas of one request share one bound", () => {
    const rules = new GrammarRules();
    const compileNext = () =>
      new JsonSchemaCompiler(rules, repetitive["many values"], { part: "schema" }).compile();
    expect(() => {
      for (let tool = 0; tool < 128; tool++) compileNext();
    }).toThrow(NodeError);
  });
});

/** Schemas by chance, with definitions that refer to each other in every way. */
const shared = fc.letrec<{ schema: object | true }>((tie) => {
  const $ref = fc.nat(5).map((at) => `#/$defs/d${at}`);
  const list = fc.array(tie("schema"), { minLength: 1, maxLength: 3 });
  const properties = fc.dictionary(fc.constantFrom("a", "b", "c"), tie("schema"));
  const beside = fc.constantFrom(
    ...[{}, {}, { type: "object" }, { maxProperties: 9 }, { minimum: 1 }, { nullable: true }],
  );
  return {
    schema: fc.oneof(
      { maxDepth: 5, depthSize: "small" },
      fc.constantFrom<object | true>(
        ...[true as const, { type: "integer" }, { type: ["string", "null"] }],
        ...[{ const: 1 }, { enum: ["a", "ab", "b"] }, { pattern: "^(a|b)*c$" }],
      ),
      fc.record({ $ref }),
      fc.tuple($ref, beside).map(([ref, more]) => ({ $ref: ref, ...more })),
      fc.tuple(list, beside).map(([allOf, more]) => ({ allOf, ...more })),
      fc.tuple(list, beside).map(([anyOf, more]) => ({ anyOf, ...more })),
      fc.tuple(list, beside).map(([oneOf, more]) => ({ oneOf, ...more })),
      fc.tuple(properties, fc.boolean()).map(([of, all]) => ({
        type: ["object"],
        properties: of,
        required: all ? Object.keys(of) : [],
      })),
      tie("schema").map((items) => ({ type: "array", items, maxItems: 3 })),
      list.map((prefixItems) => ({ type: "array", prefixItems })),
      tie("schema").map((additionalProperties) => ({ type: "object", additionalProperties })),
    ),
  };
}).schema;

const documents = fc
  .tuple(shared, fc.array(shared, { minLength: 6, maxLength: 6 }))
  .map(([root, parts]) => ({
    ...(root === true ? {} : root),
    $defs: Object.fromEntries(parts.map((part, at) => [`d${at}`, part])),
  }));

describe("a schema by chance", () => {
  test("is compiled within the bounds, or refused by name", () => {
    let compiled = 0;
    fc.assert(
      fc.property(documents, (document) => {
        const { grammar, refusal, steps } = compile(document);
        expect(steps).toBeLessThanOrEqual(2 * mostSchemaSteps);
        if (grammar === undefined) {
          expect([refusal, isRefusal(refusal)]).toEqual([refusal, true]);
          return;
        }
        compiled++;
        expect(grammar.length).toBeLessThanOrEqual(2 * mostGrammarCharacters);
        const { elements, leftmostReads } = checkNativeCost(grammar);
        expect(elements).toBeLessThanOrEqual(mostGrammarElements);
        expect(leftmostReads).toBeLessThanOrEqual(mostLeftmostReads);
        new GbnfMachine(grammar).read("");
      }),
      { numRuns: 3000 },
    );
    expect(compiled).toBeGreaterThan(300);
  });

  test("that fixes its values allows these and no others", () => {
    const value = fc.oneof(fc.string({ unit: "binary" }), fc.nat(200), fc.constantFrom(null, true));
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 30 }), value, (values, other) => {
        const machine = new GbnfMachine(compile({ enum: values }).grammar ?? "");
        const known = new Set(values.map((one) => JSON.stringify(one)));
        for (const json of known) expect([json, machine.accepts(json)]).toEqual([json, true]);
        const json = JSON.stringify(other);
        for (const text of [json, json.slice(0, -1), `${json}0`]) {
          expect([text, machine.accepts(text)]).toEqual([text, known.has(text)]);
        }
      }),
    );
  });

  test("of an object allows its properties in order, with all that are required", () => {
    const names = ["a", "b", "c", "d", "e"];
    fc.assert(
      fc.property(fc.subarray(names), fc.subarray(names), (required, written) => {
        const properties = Object.fromEntries(names.map((name) => [name, { const: 1 }]));
        const grammar = compile({ type: "object", properties, required }).grammar ?? "";
        const json = JSON.stringify(Object.fromEntries(written.map((name) => [name, 1])));
        expect([json, new GbnfMachine(grammar).accepts(json)]).toEqual([
          json,
          required.every((name) => written.includes(name)),
        ]);
      }),
    );
  });
});

describe("the readings of an answer that a grammar keeps open", () => {
  const term = { $ref: "#/$defs/term" };
  const object = (properties: object) => ({
    type: "object",
    properties,
    required: Object.keys(properties),
  });
  const recursive: [string, object[], string][] = [
    [
      "options told apart by a constant",
      [object({ op: { const: "not" }, of: term }), object({ op: { const: "so" }, of: term })],
      '{"op":"not","of":',
    ],
    ["options told apart by a name", [object({ not: term }), object({ so: term })], '{"not":'],
    [
      "optional properties of other names",
      [
        { type: "object", properties: { and: { type: "array", items: term } } },
        { type: "object", properties: { or: { type: "array", items: term } } },
      ],
      '{"and":[',
    ],
    ["a list and an object", [{ type: "array", items: term }, object({ of: term })], "["],
  ];

  test.each(recursive)("stay few in a schema that refers to itself: %s", (_, anyOf, opening) => {
    const schema = { ...term, $defs: { term: { anyOf: [...anyOf, { type: "null" }] } } };
    const machine = new GbnfMachine(compile(schema).grammar ?? "");
    expect(machine.read(opening.repeat(30)).open).toBeLessThan(20);
  });
});
