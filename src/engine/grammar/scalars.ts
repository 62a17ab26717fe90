/** Strings and numbers of JSON Schema as GBNF: formats, lengths and ranges. */
import { bounds, numeric, type PartContext, repeat } from "./containers.ts";
import { shown } from "./limits.ts";
import { patternGrammar, UnsupportedPattern } from "./pattern.ts";
import { fraction, literal } from "./rules.ts";
import type { SchemaObject } from "./schema-resolver.ts";

export function stringGrammar(schema: SchemaObject, context: PartContext): string {
  const { rules, refuse } = context;
  const { pattern, format } = schema;
  const [least, most] = bounds(schema, "minLength", "maxLength", context);
  const bounded = least > 0 || most !== undefined;
  for (const [name, text] of Object.entries({ pattern, format })) {
    if (text !== undefined && typeof text !== "string") throw refuse(name, "is not a string");
  }
  if (pattern !== undefined) {
    if (format !== undefined) throw refuse("pattern", "cannot be held together with a format");
    if (bounded) throw refuse("pattern", "cannot be held together with a length");
    return `"\\"" ${patternOf(String(pattern), "pattern", context)} "\\""`;
  }
  if (format !== undefined) {
    const known = stringFormats[String(format)];
    if (known === undefined) {
      const names = Object.keys(stringFormats).join(", ");
      throw refuse("format", `'${shown(format)}' is not one of ${names}`);
    }
    if (bounded) throw refuse("format", "cannot be held together with a length");
    return `"\\"" ${patternOf(known, "format", context)} "\\""`;
  }
  if (!bounded) return rules.string();
  return rules.add("of-string", `"\\"" ${rules.character()}${repeat(least, most)} "\\""`);
}

function patternOf(pattern: string, keyword: string, { rules, refuse }: PartContext): string {
  try {
    return patternGrammar(pattern, rules);
  } catch (error) {
    if (!(error instanceof UnsupportedPattern)) throw error;
    throw refuse(keyword, `'${shown(pattern)}' ${error.message}`);
  }
}

export function integerGrammar(schema: SchemaObject, context: PartContext): string {
  const bound = (keyword: string, round: (bound: number) => number) =>
    numeric(schema, keyword, context, round);
  const least = Math.max(
    bound("minimum", Math.ceil) ?? -Infinity,
    bound("exclusiveMinimum", (value) => Math.floor(value) + 1) ?? -Infinity,
  );
  const most = Math.min(
    bound("maximum", Math.floor) ?? Infinity,
    bound("exclusiveMaximum", (value) => Math.ceil(value) - 1) ?? Infinity,
  );
  if (least === -Infinity && most === Infinity) return context.rules.integer();
  checkOrder(least, most, context);
  return context.rules.add("of-integer", integerRange(least, most));
}

export function numberGrammar(schema: SchemaObject, context: PartContext): string {
  for (const keyword of ["exclusiveMinimum", "exclusiveMaximum"]) {
    if (schema[keyword] !== undefined) {
      throw context.refuse(keyword, "is supported for integers only");
    }
  }
  const whole = (keyword: string) =>
    numeric(schema, keyword, context, (bound) => {
      if (Number.isInteger(bound)) return bound;
      throw context.refuse(keyword, "must be a whole number");
    });
  const [least, most] = [whole("minimum"), whole("maximum")];
  if (least === undefined && most === undefined) return context.rules.number();
  checkOrder(least, most, context);
  return context.rules.add("of-number", decimalRange(least, most));
}

function checkOrder(least = -Infinity, most = Infinity, { refuse }: PartContext): void {
  if (least > most) throw refuse("maximum", "is under the minimum");
}

const hour = "([01][0-9]|2[0-3])";
const minute = "[0-5][0-9]";
const time = `${hour}:${minute}:${minute}(\\.[0-9]{1,3})?(Z|[+-]${hour}:${minute})`;
// Every month has a day 28.
const date = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])";
const label = "[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?";
const hostname = `${label}(\\.${label}){0,3}`;
const byte = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";

/** String formats as patterns that match only valid values. */
export const stringFormats: Readonly<Record<string, string>> = {
  "date-time": `^${date}T${time}$`,
  date: `^${date}$`,
  time: `^${time}$`,
  duration: "^P([1-9][0-9]{0,3}[YMWD]|T[1-9][0-9]{0,3}[HMS])$",
  uuid: "^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
  email: `^[a-z0-9]{1,16}([._+-][a-z0-9]{1,16}){0,2}@${label}\\.${label}(\\.${label})?$`,
  hostname: `^${hostname}$`,
  ipv4: `^${byte}(\\.${byte}){3}$`,
  ipv6: "^[0-9a-f]{1,4}(:[0-9a-f]{1,4}){7}$",
  uri: `^https?://${hostname}(/[a-z0-9._~-]{0,40}){0,6}$`,
};

/** Digits of an unbounded number: as many as a double holds exactly. */
const mostDigits = 15;

export function integerRange(low = -Infinity, high = Infinity): string {
  const options: string[] = [];
  if (low < 0) options.push(`"-" (${natural(Math.max(1, -Math.min(high, -1)), -low)})`);
  if (high >= 0) options.push(natural(Math.max(0, low), high));
  return options.join(" | ");
}

/** Decimals from `low` to `high`, which are whole numbers. */
export function decimalRange(low = -Infinity, high = Infinity): string {
  const options: string[] = [];
  if (low < 0) options.push(`"-" (${decimal(Math.max(0, -high), -low)})`);
  if (high >= 0) options.push(decimal(Math.max(0, low), high));
  return options.join(" | ");
}

function decimal(low: number, high: number): string {
  if (high === Infinity) return `(${natural(low, high)}) ${fraction}?`;
  const exact = `${literal(String(high))} ("." "0"{1,3})?`;
  return low < high ? `(${natural(low, high - 1)}) ${fraction}? | ${exact}` : exact;
}

/** Whole numbers from `low` to `high`, neither negative, without leading zeros. */
function natural(low: number, high: number): string {
  const from = String(low);
  const lowest = (digits: number): string => (digits === 1 ? "0" : `1${"0".repeat(digits - 1)}`);
  const highest = (digits: number): string => "9".repeat(digits);
  if (high === Infinity) {
    const same = sameLength(from, highest(from.length));
    if (from.length >= mostDigits) return same;
    return `${same} | [1-9] [0-9]{${from.length},${mostDigits - 1}}`;
  }
  const to = String(high);
  const options: string[] = [];
  for (let digits = from.length; digits <= to.length; digits++) {
    options.push(
      sameLength(
        digits === from.length ? from : lowest(digits),
        digits === to.length ? to : highest(digits),
      ),
    );
  }
  return options.join(" | ");
}

function sameLength(from: string, to: string): string {
  if (from === to) return literal(from);
  const [first, last] = [Number(from[0]), Number(to[0])];
  const rest = from.length - 1;
  if (rest === 0) return `[${first}-${last}]`;
  const any = `[0-9]{${rest}}`;
  if (first === last) return `"${first}" (${sameLength(from.slice(1), to.slice(1))})`;
  const lowest = "0".repeat(rest);
  const highest = "9".repeat(rest);
  const options: string[] = [];
  const wholeFrom = from.slice(1) === lowest ? first : first + 1;
  const wholeTo = to.slice(1) === highest ? last : last - 1;
  if (wholeFrom > first) options.push(`"${first}" (${sameLength(from.slice(1), highest)})`);
  if (wholeFrom <= wholeTo) options.push(`[${wholeFrom}-${wholeTo}] ${any}`);
  if (wholeTo < last) options.push(`"${last}" (${sameLength(lowest, to.slice(1))})`);
  return options.join(" | ");
}
