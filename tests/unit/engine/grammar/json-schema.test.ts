import { describe, expect, test } from "bun:test";
import { JsonSchemaCompiler } from "../../../../src/engine/grammar/json-schema.ts";
import { GrammarRules } from "../../../../src/engine/grammar/rules.ts";

/** The grammar's rules by name; a rule that is defined twice is a failure. */
function compile(schema: unknown): Map<string, string> {
  const rules = new GrammarRules();
  const { rule: root } = new JsonSchemaCompiler(rules, schema, { part: "schema" }).compile();
  const named = new Map<string, string>();
  for (const line of rules.toString(root).trimEnd().split("\n")) {
    const [name = "", body = ""] = line.split(" ::= ");
    if (named.has(name)) throw new Error(`The rule '${name}' is defined twice`);
    named.set(name, body);
  }
  return named;
}

/** The rules' names that a body refers to. */
const references = (body: string): string[] =>
  body.replace(/"(\\.|[^"\\])*"|\[(\\.|[^\]\\])*\]|\{[\d,]+\}/g, " ").match(/[A-Za-z0-9-]+/g) ?? [];

const ownNames = [
  ...["root", "space", "char", "string", "integer", "number", "boolean", "null", "value"],
  ...["object", "array", "schema", "members", "member", "item", "call", "document"],
];

describe("the grammar of a schema", () => {
  test.each(ownNames)("has each rule once where a property is called %s", (name) => {
    const properties = { [name]: { const: 1 }, any: {} };
    const rules = compile({ type: "object", properties, required: [name, "any"] });
    const unknown = [...rules.values()].flatMap(references).filter((used) => !rules.has(used));
    expect(unknown).toEqual([]);
  });

  test("lets any value hold any value, also beside a property that is called value", () => {
    const rules = compile({ type: "object", properties: { value: { const: 1 }, any: {} } });
    const list = [...rules.values()].find((body) => body.startsWith('"[" '));
    const inside = references(list ?? "").filter((name) => name !== "space");
    expect(inside.map((name) => rules.get(name)?.split(" | ").length)).toEqual([6, 6]);
  });
});
