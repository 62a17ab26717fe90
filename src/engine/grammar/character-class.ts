/** Sets of characters as GBNF for the inside of a JSON string, where some must be escaped. */
import { literal } from "./rules.ts";

export type Range = readonly [number, number];

const last = 0x10ffff;

export function complement(ranges: readonly Range[]): Range[] {
  const gaps: Range[] = [];
  let next = 0;
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    if (from > next) gaps.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= last) gaps.push([next, last]);
  return gaps;
}

/** Adds a range that comes after all others. */
export function extend(ranges: Range[], range: Range): void {
  const before = ranges.at(-1);
  if (before === undefined || before[1] + 1 !== range[0]) ranges.push(range);
  else ranges[ranges.length - 1] = [before[0], range[1]];
}

export const isOne = (ranges: readonly Range[]): ranges is readonly [Range] =>
  ranges.length === 1 && ranges[0]?.[0] === ranges[0]?.[1];

/** Characters that JSON does not escape: all but control characters, surrogates, quote and backslash. */
export const plain: readonly Range[] = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0x7e],
  [0xa0, 0xd7ff],
  [0xe000, last],
];
const escapable: readonly Range[] = [
  [0x22, 0x22],
  [0x5c, 0x5c],
];

export const writable = (ranges: readonly Range[]): Range[] =>
  intersection(ranges, [...plain, ...escapable]);

function intersection(ranges: readonly Range[], others: readonly Range[]): Range[] {
  return ranges.flatMap(([from, to]) =>
    others.flatMap(([low, high]): Range[] =>
      from <= high && to >= low ? [[Math.max(from, low), Math.min(to, high)]] : [],
    ),
  );
}

export function characterClass(ranges: readonly Range[]): string {
  const direct = intersection(ranges, plain);
  const single = isOne(direct) ? literal(String.fromCodePoint(direct[0][0])) : gbnfClass(direct);
  const options = [...(direct.length === 0 ? [] : [single]), ...escapes(ranges)];
  return options.length === 1 ? `${options[0]}` : `(${options.join(" | ")})`;
}

/** Characters that JSON escapes: quote, backslash, and those that a pattern names one by one. */
function escapes(ranges: readonly Range[]): string[] {
  return ranges.flatMap(([from, to]) => {
    const codes: string[] = [];
    for (let code = from; code <= to; code++) {
      const inside = plain.find(([low, high]) => low <= code && code <= high);
      if (inside !== undefined) code = inside[1];
      else codes.push(literal(JSON.stringify(String.fromCodePoint(code)).slice(1, -1)));
    }
    return codes;
  });
}

export const gbnfClass = (ranges: readonly Range[]): string => `[${ranges.map(render).join("")}]`;

const render = ([from, to]: Range): string =>
  from === to ? escaped(from) : `${escaped(from)}-${escaped(to)}`;

function escaped(code: number): string {
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code <= 0xffff) return `\\u${code.toString(16).padStart(4, "0")}`;
  return `\\U${code.toString(16).padStart(8, "0")}`;
}
