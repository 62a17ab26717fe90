/** Parses what an upstream server sent, so that it does not stop the node, however deep or long it is. */
import { parseJson } from "../../client/json-fields.ts";
import { Turns } from "../../core/turns.ts";

/** Deeper than any answer: a level costs as much to parse as a hundred characters of text. */
const deepest = 64;
/** Characters that are parsed without waiting for a turn of the loop. */
const shortText = 16 * 1024;

const turns = new Turns();

/** Undefined if it is not JSON, or nested too deep. */
export async function parseAnswer(text: string): Promise<unknown> {
  if (text.length > shortText) await turns.next();
  return isDeep(text) ? undefined : parseJson(text);
}

const [quote, openList, closeList, openObject, closeObject] = [0x22, 0x5b, 0x5d, 0x7b, 0x7d];

function isDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === quote) at = endOfText(text, at);
    else if (character === openList || character === openObject) depth++;
    else if (character === closeList || character === closeObject) depth--;
    if (depth > deepest) return true;
  }
  return false;
}

/** The index of the quote that ends the text which begins at `from`. */
function endOfText(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text[at - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}
