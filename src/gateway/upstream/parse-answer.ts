/** Parses what an upstream server sent, so that it does not stop the node, however deep or long it is. */
import { parseJson } from "../../client/json-fields.ts";
import { JsonSize } from "../../core/json-size.ts";
import { Turns } from "../../core/turns.ts";

/** Characters that are parsed without waiting for a turn of the loop. */
const shortText = 16 * 1024;

const turns = new Turns();
const encoder = new TextEncoder();

/** Undefined if it is not JSON, is nested too deep or has too many fields. */
export async function parseAnswer(text: string): Promise<unknown> {
  if (text.length > shortText) await turns.next();
  // Vectors are many numbers.
  const size = new JsonSize(Number.POSITIVE_INFINITY);
  const excess = await size.addInSlices(encoder.encode(text));
  return excess === undefined ? parseJson(text) : undefined;
}
