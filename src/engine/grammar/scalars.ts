/** Strings and numbers of JSON Schema as GBNF. */
import { decimalRange, integerRange } from "./number-range.ts";
import { patternGrammar, UnsupportedPattern } from "./pattern.ts";
import { type Place, shown } from "./place.ts";
import { bounds, numeric, repeat } from "./repetition.ts";
import type { SchemaObject } from "./schema-merge.ts";
import { stringFormats } from "./string-formats.ts";

export function stringGrammar(schema: SchemaObject, place: Place): string {
  const { rules, refuse } = place;
  const { pattern, format } = schema;
  const [least, most] = bounds(schema, "minLength", "maxLength", place);
  const bounded = least > 0 || most !== undefined;
  if (pattern !== undefined) {
    if (format !== undefined) throw refuse("pattern", "cannot be held together with a format");
    if (bounded) throw refuse("pattern", "cannot be held together with a length");
    return `"\\"" ${patternOf(String(pattern), "pattern", place)} "\\""`;
  }
  if (format !== undefined) {
    const known = stringFormats[String(format)];
    if (known === undefined) {
      const names = Object.keys(stringFormats).join(", ");
      throw refuse("format", `'${shown(format)}' is not one of ${names}`);
    }
    if (bounded) throw refuse("format", "cannot be held together with a length");
    return `"\\"" ${patternOf(known, "format", place)} "\\""`;
  }
  if (!bounded) return rules.string();
  return rules.add("of-string", `"\\"" ${rules.character()}${repeat(least, most)} "\\""`);
}

function patternOf(pattern: string, keyword: string, { rules, refuse }: Place): string {
  try {
    return patternGrammar(pattern, rules);
  } catch (error) {
    if (!(error instanceof UnsupportedPattern)) throw error;
    throw refuse(keyword, `'${shown(pattern)}' ${error.message}`);
  }
}

export function integerGrammar(schema: SchemaObject, place: Place): string {
  const least = largest(
    numeric(schema, "minimum", place, Math.ceil),
    numeric(schema, "exclusiveMinimum", place, (bound) => Math.floor(bound) + 1),
  );
  const most = smallest(
    numeric(schema, "maximum", place, Math.floor),
    numeric(schema, "exclusiveMaximum", place, (bound) => Math.ceil(bound) - 1),
  );
  if (least === undefined && most === undefined) return place.rules.integer();
  checkOrder(least, most, place);
  return place.rules.add("of-integer", integerRange(least, most));
}

export function numberGrammar(schema: SchemaObject, place: Place): string {
  for (const keyword of ["exclusiveMinimum", "exclusiveMaximum"]) {
    if (schema[keyword] !== undefined) {
      throw place.refuse(keyword, "is supported for integers only");
    }
  }
  const whole = (keyword: string) =>
    numeric(schema, keyword, place, (bound) => {
      if (Number.isInteger(bound)) return bound;
      throw place.refuse(keyword, "must be a whole number");
    });
  const [least, most] = [whole("minimum"), whole("maximum")];
  if (least === undefined && most === undefined) return place.rules.number();
  checkOrder(least, most, place);
  return place.rules.add("of-number", decimalRange(least, most));
}

function checkOrder(least = -Infinity, most = Infinity, { refuse }: Place): void {
  if (least > most) throw refuse("maximum", "is under the minimum");
}

const largest = (...values: (number | undefined)[]): number | undefined =>
  values.reduce((a, b) => (a === undefined ? b : b === undefined ? a : Math.max(a, b)));

const smallest = (...values: (number | undefined)[]): number | undefined =>
  values.reduce((a, b) => (a === undefined ? b : b === undefined ? a : Math.min(a, b)));
