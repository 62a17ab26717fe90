/** Sets of characters as GBNF for the inside of a JSON string, where some must be escaped. */

/** Code points from the first to the last. */
export type Range = readonly [number, number];

export const codeOf = (character: string): number => character.codePointAt(0) ?? 0;

const last = 0x10ffff;

/** Every character that is in none of the ranges. */
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

/** What JSON can hold as it is; the rest is control characters, surrogates, quote and backslash. */
const plain: readonly Range[] = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0x7e],
  [0xa0, 0xd7ff],
  [0xe000, last],
];
const quote = 0x22;
const backslash = 0x5c;

export function characterClass(ranges: readonly Range[]): string {
  const kept = ranges.flatMap(([from, to]) =>
    plain.flatMap(([low, high]): Range[] =>
      from <= high && to >= low ? [[Math.max(from, low), Math.min(to, high)]] : [],
    ),
  );
  const has = (code: number): boolean => ranges.some(([from, to]) => from <= code && code <= to);
  const options = [
    ...(kept.length === 0 ? [] : [`[${kept.map(render).join("")}]`]),
    ...(has(quote) ? ['"\\\\\\""'] : []),
    ...(has(backslash) ? ['"\\\\\\\\"'] : []),
  ];
  // A class of nothing that can be written matches nothing: a literal that no text has.
  return options.length === 0
    ? "[\\x00]"
    : options.length === 1
      ? `${options[0]}`
      : `(${options.join(" | ")})`;
}

const render = ([from, to]: Range): string =>
  from === to ? escaped(from) : `${escaped(from)}-${escaped(to)}`;

function escaped(code: number): string {
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code <= 0xffff) return `\\u${code.toString(16).padStart(4, "0")}`;
  return `\\U${code.toString(16).padStart(8, "0")}`;
}
