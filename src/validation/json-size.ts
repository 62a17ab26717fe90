/** How much a JSON text holds, told from its bytes: what is too much is never built. */

/** How deep it may nest: what walks it later does so by calling itself. */
export const deepestNesting = 256;
/** Values of any kind; more than the token ids of a thousand long texts. */
export const mostValues = 1_000_000;
/** Members of objects, which cost ten times what an item of a list does. */
export const mostKeys = 100_000;

export interface JsonExcess {
  what: "nesting" | "values" | "keys";
  /** The field of the outermost object that it lies in, where there is one. */
  field: string | undefined;
}

const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];
const [openList, openObject, closeList, closeObject] = [0x5b, 0x7b, 0x5d, 0x7d];

/** Counts over any number of texts, so that many small ones are no way around the bounds. */
export class JsonSize {
  #values = 0;
  #keys = 0;

  /** Counts one more text as far as the bounds; what is no JSON is counted as well as it can be. */
  add(json: Uint8Array): JsonExcess | undefined {
    let depth = 0;
    // Of the outermost object: the text that came last, and the one that was last a field's name.
    let [from, to] = [0, 0];
    let field: Uint8Array | undefined;
    const excess = (what: JsonExcess["what"]): JsonExcess => ({
      what,
      field: field && read(field),
    });
    this.#values++;
    for (let at = 0; at < json.length; at++) {
      switch (json[at]) {
        case quote: {
          const end = endOfText(json, at);
          if (depth === 1) [from, to] = [at, end + 1];
          at = end;
          break;
        }
        case colon:
          if (depth === 1) field = json.subarray(from, to);
          if (++this.#keys > mostKeys) return excess("keys");
          break;
        case openList:
        case openObject:
          if (++depth > deepestNesting) return excess("nesting");
          if (++this.#values > mostValues) return excess("values");
          break;
        case comma:
          if (++this.#values > mostValues) return excess("values");
          break;
        case closeList:
        case closeObject:
          depth--;
          break;
      }
    }
    return undefined;
  }
}

/** Where the quote is that ends the text which begins at `from`. */
function endOfText(json: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at;
}

function read(text: Uint8Array): string | undefined {
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
