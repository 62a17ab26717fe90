/** GBNF for whole numbers and decimals within bounds, digit by digit. */
import { fraction, literal } from "./rules.ts";

/** Digits of an unbounded number: as many as a double holds exactly. */
const mostDigits = 15;

/** Whole numbers from `least` to `most`; either may be absent. */
export function integerRange(least: number | undefined, most: number | undefined): string {
  const low = least ?? -Infinity;
  const high = most ?? Infinity;
  const options: string[] = [];
  if (low < 0) options.push(`"-" (${natural(Math.max(1, -Math.min(high, -1)), -low)})`);
  if (high >= 0) options.push(natural(Math.max(0, low), high));
  return alternatives(options);
}

/** Decimals from `least` to `most`, which are whole numbers; either may be absent. */
export function decimalRange(least: number | undefined, most: number | undefined): string {
  const low = least ?? -Infinity;
  const high = most ?? Infinity;
  const options: string[] = [];
  if (low < 0) options.push(`"-" (${decimal(Math.max(0, -high), -low)})`);
  if (high >= 0) options.push(decimal(Math.max(0, low), high));
  return alternatives(options);
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
  return alternatives(options);
}

/** Numbers between two of the same number of digits. */
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
  return alternatives(options);
}

const alternatives = (options: readonly string[]): string => options.join(" | ");
