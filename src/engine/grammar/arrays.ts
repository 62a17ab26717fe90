/** Arrays of JSON Schema as GBNF: some fixed items first, then any number of one kind. */
import type { Container, Place } from "./place.ts";
import { bounds, listOf, repeat } from "./repetition.ts";
import type { SchemaObject } from "./schema-merge.ts";

export function arrayGrammar(schema: SchemaObject, place: Place): Container {
  const { rules, refuse, compile } = place;
  if (schema.uniqueItems === true) throw refuse("uniqueItems", "is not supported");
  const space = rules.space();
  const [least, most] = bounds(schema, "minItems", "maxItems", place);
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
  // Items of any kind after the fixed ones are written only where minItems asks for them.
  const free = schema.items === undefined || schema.items === true;
  const allowed = free ? wanted : most === undefined ? undefined : most - fixed.length;
  const separator = `${space} "," ${space}`;
  const more =
    rest === undefined || allowed === 0
      ? ""
      : `(${separator} ${rules.addPart("item", rest.text)})${repeat(wanted, allowed)}`;
  const list = `${fixed.join(` ${separator} `)} ${more}`;
  return { text: `"[" ${space} ${list} ${space} "]"`, inside };
}
