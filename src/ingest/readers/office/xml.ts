/** Parses the XML of Office files and EPUBs as events. Entities that a file defines are not expanded. */
import { TextDecoder } from "node:util";
import { SaxesParser } from "saxes";
import { beyond, type ReadLimits } from "../limits.ts";
import { markedEncoding, namedEncoding } from "../text/encoding.ts";

export type XmlAttributes = Readonly<Record<string, string>>;

/** Names are without their prefix, which every writer chooses for itself. */
export interface XmlEvents {
  open?(name: string, attributes: XmlAttributes): void;
  /** `name` ends; `text` is what stood in it since the last tag. */
  close?(name: string, text: string): void;
}

/** Counts elements of all parts of a file together. */
export interface ElementCount {
  elements: number;
  limits: ReadLimits;
}

/** Characters that the parser gets at a time. */
const sliceLength = 1 << 16;

/** Throws an `Error` for what is not well-formed. */
export function parseXml(bytes: Uint8Array, events: XmlEvents, count?: ElementCount): void {
  const parser = new SaxesParser();
  // What an older program shows in place of what stands before it is left out.
  let fallbacks = 0;
  let text = "";
  const add = (more: string): void => {
    text += more;
  };
  parser.on("text", add);
  parser.on("cdata", add);
  parser.on("opentag", ({ name, attributes }) => {
    text = "";
    if (count !== undefined) addElement(count);
    const local = localName(name);
    if (local === "Fallback" || fallbacks > 0) fallbacks += 1;
    else events.open?.(local, attributes);
  });
  parser.on("closetag", ({ name }) => {
    if (fallbacks > 0) fallbacks -= 1;
    else events.close?.(localName(name), text);
    text = "";
  });
  const encoding = markedEncoding(bytes) ?? namedEncoding(bytes) ?? "utf-8";
  const xml = new TextDecoder(encoding, { fatal: true }).decode(bytes);
  for (let at = 0; at < xml.length; at += sliceLength)
    parser.write(xml.slice(at, at + sliceLength));
  parser.close();
}

const localName = (name: string): string => name.slice(name.indexOf(":") + 1);

/** The id of a relationship, beside which an element may have an id of its own. */
export function relationshipId(attributes: XmlAttributes, name = "id"): string | undefined {
  const key = Object.keys(attributes).find((each) => each.endsWith(`:${name}`));
  return key === undefined ? undefined : attributes[key];
}

const lessThan = 0x3c;
const slash = 0x2f;

/** Counts the elements of an XML text without parsing it; comments and the like count too. */
export function countElements(xml: Uint8Array, count: ElementCount): void {
  for (let at = xml.indexOf(lessThan); at !== -1; at = xml.indexOf(lessThan, at + 1)) {
    if (xml[at + 1] !== slash) addElement(count);
  }
}

function addElement(count: ElementCount): void {
  count.elements += 1;
  if (count.elements > count.limits.max_elements) throw beyond("max_elements", count.limits);
}
