/** Counts what JSON holds before it is parsed: a body may be small in bytes, and deep or of too many values. */
import { nextTurn } from "./turns.ts";

/** The deepest nesting allowed: later code walks the value recursively. */
export const deepestNesting = 256;
/** Values of any type; more than the token ids of a thousand long texts. */
export const mostValues = 1_000_000;
/** Properties of objects; each costs ten times as much as a list item. */
export const mostKeys = 100_000;

/** Bytes; larger JSON is parsed in a turn of its own: a field can take microseconds. */
export const largeJson = 16 * 1024;

interface JsonExcess {
  what: "nesting" | "values" | "keys";
  field: string | undefined;
}

const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];
const [openList, openObject, closeList, closeObject] = [0x5b, 0x7b, 0x5d, 0x7d];

const longText = 64;

/** Bytes scanned before other requests get a turn: a few milliseconds. */
const sliceBytes = 1 << 20;

interface Scan {
  json: Uint8Array;
  at: number;
  depth: number;
  /** Start and end of the last string in the top-level object. */
  from: number;
  to: number;
  /** The last string that was a field's name. */
  field?: Uint8Array;
}

/** Counts values in JSON without parsing it; in total, so many small texts cannot evade limits. */
export class JsonSize {
  #values = 0;
  #keys = 0;
  readonly #mostValues: number;
  readonly #mostKeys: number;

  constructor(values = mostValues, keys = mostKeys) {
    this.#mostValues = values;
    this.#mostKeys = keys;
  }

  /** Counts one more text, up to the limits; invalid JSON is counted as well as possible. */
  add(json: Uint8Array): JsonExcess | undefined {
    return this.#advance(begin(json), json.length);
  }

  /** `add` in slices, for a text that may be long. */
  async addInSlices(json: Uint8Array): Promise<JsonExcess | undefined> {
    const scan = begin(json);
    while (scan.at < json.length) {
      const excess = this.#advance(scan, scan.at + sliceBytes);
      if (excess !== undefined) return excess;
      if (scan.at < json.length) await nextTurn();
    }
    return undefined;
  }

  #advance(scan: Scan, until: number): JsonExcess | undefined {
    const { json } = scan;
    const end = Math.min(until, json.length);
    let { at, depth } = scan;
    const excess = (what: JsonExcess["what"]): JsonExcess => ({ what, field: nameOf(scan.field) });
    for (; at < end; at++) {
      switch (json[at]) {
        case quote: {
          const last = endOfText(json, at);
          if (depth === 1) [scan.from, scan.to] = [at, last + 1];
          at = last;
          break;
        }
        case colon:
          if (depth === 1) scan.field = json.subarray(scan.from, scan.to);
          if (++this.#keys > this.#mostKeys) return excess("keys");
          break;
        case openList:
        case openObject:
          if (++depth > deepestNesting) return excess("nesting");
          if (++this.#values >= this.#mostValues) return excess("values");
          break;
        case comma:
          if (++this.#values >= this.#mostValues) return excess("values");
          break;
        case closeList:
        case closeObject:
          depth--;
          break;
      }
    }
    [scan.at, scan.depth] = [at, depth];
    return undefined;
  }
}

const begin = (json: Uint8Array): Scan => ({ json, at: 0, depth: 0, from: 0, to: 0 });

function endOfText(json: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== quote) {
    at += json[at] === backslash ? 2 : 1;
    if (at - from !== longText) continue;
    // A long string usually ends at the next quote, and `indexOf` finds it many times faster.
    const first = json.indexOf(quote, at);
    if (first !== -1 && json[first - 1] !== backslash) return first;
  }
  return at;
}

function nameOf(text: Uint8Array | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return String(JSON.parse(new TextDecoder().decode(text)));
  } catch {
    return undefined;
  }
}

export const excessText: Readonly<Record<JsonExcess["what"], string>> = {
  nesting: `is nested too deep: a body may have ${deepestNesting} levels`,
  values: `holds too much: a body may have ${mostValues} values. Split it into several requests`,
  keys: `holds too many fields: a body may have ${mostKeys}, all objects together`,
};
