/** How often something may be repeated: bounds from a schema, and what GBNF writes for them. */
import type { Place } from "./place.ts";
import type { GrammarRules } from "./rules.ts";
import type { SchemaObject } from "./schema-merge.ts";

/** A least and a most number of things. */
export function bounds(
  schema: SchemaObject,
  least: string,
  most: string,
  place: Place,
): [least: number, most: number | undefined] {
  const low = numeric(schema, least, place, Math.ceil) ?? 0;
  const high = numeric(schema, most, place, Math.floor);
  if (high !== undefined && high < low) throw place.refuse(most, `is under ${least}`);
  if (Math.max(low, high ?? 0) > mostRepeated) {
    const keyword = low > mostRepeated ? least : most;
    throw place.refuse(keyword, `is more than the ${mostRepeated} that a grammar can count`);
  }
  return [Math.max(0, low), high];
}

/** llama.cpp refuses a grammar that counts further. */
const mostRepeated = 2000;

export function numeric(
  schema: SchemaObject,
  keyword: string,
  { refuse }: Place,
  round: (bound: number) => number,
): number | undefined {
  const bound = schema[keyword];
  if (bound === undefined) return undefined;
  if (typeof bound !== "number" || !Number.isSafeInteger(Math.trunc(bound))) {
    throw refuse(keyword, "is not a number that can be held");
  }
  return round(bound);
}

/** So many times, as GBNF counts. */
export function repeat(least: number, most: number | undefined): string {
  if (most === undefined) return least === 0 ? "*" : `{${least},}`;
  return `{${least},${most}}`;
}

/** A list of `item`s with commas between them, from `least` to `most`. */
export function listOf(
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
