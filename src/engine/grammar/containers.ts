/** Objects and arrays of JSON Schema as GBNF, and what the parts of a schema are compiled with. */
import type { NodeError } from "../../core/errors.ts";
import type { Part } from "./ambiguity.ts";
import { mostOptionalProperties, shown } from "./limits.ts";
import { type GrammarRules, jsonLiteral } from "./rules.ts";
import { isObject, type SchemaObject } from "./schema-resolver.ts";

export interface PartContext {
  rules: GrammarRules;
  refuse: (keyword: string, why: string) => NodeError;
  /** Compiles a schema inside this one; `steps` lead to it. */
  compile: (schema: unknown, ...steps: string[]) => Part;
}

export interface Container extends Pick<Part, "text" | "members"> {
  inside: readonly Part[];
}

export function objectGrammar(schema: SchemaObject, context: PartContext): Container {
  const { rules, refuse, compile } = context;
  const properties = schema.properties ?? {};
  if (!isObject(properties)) throw refuse("properties", "is not an object");
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  for (const key of required) {
    rules.budget.spend();
    if (typeof key === "string" && Object.hasOwn(properties, key)) continue;
    throw refuse("required", `names '${shown(key)}', which is not among the properties`);
  }
  const names = Object.keys(properties);
  if (names.length === 0) return mapGrammar(schema, context);
  for (const keyword of ["minProperties", "maxProperties"] as const) {
    const bound = schema[keyword];
    if (typeof bound !== "number") continue;
    const fits = keyword === "minProperties" ? bound <= required.size : bound >= names.length;
    if (!fits) throw refuse(keyword, "cannot be held together with properties");
  }
  if (names.length - required.size > mostOptionalProperties) {
    throw refuse("properties", `has more than ${mostOptionalProperties} that are not required`);
  }
  const space = rules.space();
  const members = names.map((key, at) => {
    const part = compile(properties[key], "properties", key);
    const text = `${jsonLiteral(key)} ":" ${space} ${rules.addPart(key, part.text)}`;
    return { key, at, part, text, required: required.has(key) };
  });
  return {
    text: `"{" ${space} ${rules.short("members", membersGrammar(rules, members))} ${space} "}"`,
    inside: members.map(({ part }) => part),
    members: new Map(members.map((member) => [member.key, member])),
  };
}

function mapGrammar(schema: SchemaObject, context: PartContext): Container {
  const { rules, refuse, compile } = context;
  const extra = schema.additionalProperties ?? schema.unevaluatedProperties ?? true;
  const space = rules.space();
  const [least, most] = bounds(schema, "minProperties", "maxProperties", context);
  if (extra === false) {
    if (least > 0) throw refuse("minProperties", "asks for what is not allowed");
    return { text: '"{}"', inside: [] };
  }
  const value = compile(extra, "additionalProperties");
  const member = `${rules.string()} ":" ${space} ${rules.addPart("member", value.text)}`;
  const text = `"{" ${space} ${listOf(rules, member, least, most)} ${space} "}"`;
  return { text, inside: [value] };
}

/** Members with commas between them. The names of its members give a text one parse. */
function membersGrammar(
  rules: GrammarRules,
  members: readonly { text: string; required: boolean }[],
): string {
  const separator = `${rules.space()} "," ${rules.space()}`;
  /** What may come where a member is expected, built from the last member to the first. */
  let due = "";
  let mayEnd = true;
  for (let at = members.length - 1; at >= 0; at--) {
    const { text, required } = members[at] ?? { text: "", required: true };
    const more = due === "" ? "" : mayEnd ? `(${separator} ${due})?` : `${separator} ${due}`;
    const written = `${text} ${more}`;
    due = required || due === "" ? written : `(${written} | ${due})`;
    mayEnd &&= !required;
    // The rest comes after an optional member or instead of it: as a rule, it is written once.
    if (members[at - 1]?.required === false) due = rules.add("of-members", due);
  }
  return mayEnd ? `(${due})?` : due;
}

export function arrayGrammar(schema: SchemaObject, context: PartContext): Container {
  const { rules, refuse, compile } = context;
  if (schema.uniqueItems === true) throw refuse("uniqueItems", "is not supported");
  const space = rules.space();
  const [least, most] = bounds(schema, "minItems", "maxItems", context);
  const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  const parts = prefix.map((item, at) => compile(item, "prefixItems", String(at)));
  const fixed = parts.map(({ text }) => rules.addPart("item", text));
  const items = schema.items ?? true;
  const rest = items === false ? undefined : compile(items, "items");
  const inside = rest === undefined ? parts : [...parts, rest];
  if (fixed.length === 0) {
    const list =
      rest === undefined ? "" : listOf(rules, rules.addPart("item", rest.text), least, most);
    return { text: `"[" ${space} ${list} ${space} "]"`, inside };
  }
  if (most !== undefined && most < fixed.length) {
    throw refuse("maxItems", "must cover every one of prefixItems");
  }
  const wanted = Math.max(0, least - fixed.length);
  if (rest === undefined && wanted > 0) {
    throw refuse("minItems", "asks for more than prefixItems and items allow");
  }
  // Items of any type after the fixed ones are written only if minItems requires them.
  const free = schema.items === undefined || schema.items === true;
  const allowed = free ? wanted : most === undefined ? undefined : most - fixed.length;
  const separator = `${space} "," ${space}`;
  const more =
    rest === undefined || allowed === 0
      ? ""
      : `(${separator} ${rules.addPart("item", rest.text)})${repeat(wanted, allowed)}`;
  const list = rules.short("items", `${fixed.join(` ${separator} `)} ${more}`);
  return { text: `"[" ${space} ${list} ${space} "]"`, inside };
}

export function bounds(
  schema: SchemaObject,
  least: string,
  most: string,
  context: PartContext,
): [least: number, most: number | undefined] {
  const low = numeric(schema, least, context, Math.ceil) ?? 0;
  const high = numeric(schema, most, context, Math.floor);
  if (high !== undefined && high < low) throw context.refuse(most, `is under ${least}`);
  if (Math.max(low, high ?? 0) > mostRepeated) {
    const keyword = low > mostRepeated ? least : most;
    throw context.refuse(keyword, `is more than the ${mostRepeated} that a grammar can count`);
  }
  return [Math.max(0, low), high];
}

/** llama.cpp refuses a grammar that counts further. */
const mostRepeated = 2000;

export function numeric(
  schema: SchemaObject,
  keyword: string,
  { refuse }: PartContext,
  round: (bound: number) => number,
): number | undefined {
  const bound = schema[keyword];
  if (bound === undefined) return undefined;
  if (typeof bound !== "number" || !Number.isSafeInteger(Math.trunc(bound))) {
    throw refuse(keyword, "is not a number that can be held");
  }
  return round(bound);
}

export function repeat(least: number, most: number | undefined): string {
  if (most === undefined) return least === 0 ? "*" : `{${least},}`;
  return `{${least},${most}}`;
}

function listOf(
  rules: GrammarRules,
  item: string,
  least: number,
  most: number | undefined,
): string {
  if (most === 0) return "";
  const more = repeat(Math.max(0, least - 1), most === undefined ? undefined : most - 1);
  const list = `${item} (${rules.space()} "," ${rules.space()} ${item})${more}`;
  return least > 0 ? list : `(${list})?`;
}
