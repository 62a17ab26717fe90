/** Objects of JSON Schema as GBNF: with named properties, or with any. */
import { mostOptionalProperties } from "./budget.ts";
import { membersGrammar } from "./object-members.ts";
import { type Container, type Place, shown } from "./place.ts";
import { bounds, listOf } from "./repetition.ts";
import { jsonLiteral } from "./rules.ts";
import { isObject, type SchemaObject } from "./schema-merge.ts";

export function objectGrammar(schema: SchemaObject, place: Place): Container {
  const { rules, refuse, compile } = place;
  const properties = schema.properties ?? {};
  if (!isObject(properties)) throw refuse("properties", "is not an object");
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  for (const key of required) {
    rules.budget.spend();
    if (typeof key === "string" && Object.hasOwn(properties, key)) continue;
    throw refuse("required", `names '${shown(key)}', which is not among the properties`);
  }
  const names = Object.keys(properties);
  if (names.length === 0) return mapGrammar(schema, place);
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
    text: `"{" ${space} ${membersGrammar(rules, members)} ${space} "}"`,
    inside: members.map(({ part }) => part),
    members: new Map(members.map((member) => [member.key, member])),
  };
}

/** An object whose properties have any name. */
function mapGrammar(schema: SchemaObject, place: Place): Container {
  const { rules, refuse, compile } = place;
  const extra = schema.additionalProperties ?? schema.unevaluatedProperties ?? true;
  const space = rules.space();
  const [least, most] = bounds(schema, "minProperties", "maxProperties", place);
  if (extra === false) {
    if (least > 0) throw refuse("minProperties", "asks for what is not allowed");
    return { text: '"{}"', inside: [] };
  }
  const value = compile(extra, "additionalProperties");
  const member = `${rules.string()} ":" ${space} ${rules.addPart("member", value.text)}`;
  const text = `"{" ${space} ${listOf(rules, member, least, most)} ${space} "}"`;
  return { text, inside: [value] };
}
