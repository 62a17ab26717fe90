/** How much a JSON text holds, told from its bytes: what is too much is never built. */

/** How deep it may nest: what walks it later does so by calling itself. */
export const deepestNesting = 256;
/** Values of any kind; more than the token ids of a thousand long texts. */
export const mostValues = 1_000_000;
/** Members of objects, which cost ten times what an item of a list does. */
export const mostKeys = 100_000;

interface JsonExcess {
  what: "nesting" | "values" | "keys";
  /** The field of the outermost object that it lies in, where there is one. */
  field: string | undefined;
}

const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];
const [openList, openObject, closeList, closeObject] = [0x5b, 0x7b, 0x5d, 0x7d];

const longText = 64;

/** Bytes that are looked at before others get their turn: some milliseconds. */
const sliceBytes = 1 << 20;

/** How far a text was looked at. */
interface Scan {
  json: Uint8Array;
  at: number;
  depth: number;
  /** Of the outermost object: where the text that came last begins and ends. */
  from: number;
  to: number;
  /** The one that was last a field's name. */
  field: Uint8Array | undefined;
}

/** Counts over any number of texts, so that many small ones are no way around the bounds. */
export class JsonSize {
  #values = 0;
  #keys = 0;

  /** Counts one more text as far as the bounds; text that is not JSON is counted as well as possible. */
  add(json: Uint8Array): JsonExcess | undefined {
    return this.#advance(begin(json), json.length);
  }

  /** The same for a text that may be long, piece by piece. */
  async addInSlices(json: Uint8Array): Promise<JsonExcess | undefined> {
    const scan = begin(json);
    while (scan.at < json.length) {
      const excess = this.#advance(scan, scan.at + sliceBytes);
      if (excess !== undefined) return excess;
      if (scan.at < json.length) await new Promise((resolve) => setImmediate(resolve));
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
          if (++this.#keys > mostKeys) return excess("keys");
          break;
        case openList:
        case openObject:
          if (++depth > deepestNesting) return excess("nesting");
          if (++this.#values >= mostValues) return excess("values");
          break;
        case comma:
          if (++this.#values >= mostValues) return excess("values");
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

const begin = (json: Uint8Array): Scan => ({
  json,
  at: 0,
  depth: 0,
  from: 0,
  to: 0,
  field: undefined,
});

/** Where the quote is that ends the text which begins at `from`. */
function endOfText(json: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== quote) {
    at += json[at] === backslash ? 2 : 1;
    if (at - from !== longText) continue;
    // A long text tends to end at the first quote there is, which is found many times as fast.
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

/** What is too much, as the end of a sentence. */
export const excessText: Readonly<Record<JsonExcess["what"], string>> = {
  nesting: `is nested too deep: a body may have ${deepestNesting} levels`,
  values: `holds too much: a body may have ${mostValues} values. Split it into several requests`,
  keys: `holds too many fields: a body may have ${mostKeys}, all objects together`,
};
