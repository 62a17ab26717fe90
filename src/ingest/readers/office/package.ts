/** Office files and EPUBs as packages: their parts, how these refer to each other, and their XML. */
import { posix } from "node:path";
import { TextDecoder } from "node:util";
import { SaxesParser } from "saxes";
import { asUnreadable, beyond, type ReadLimits, unreadable } from "../limits.ts";
import { markedEncoding, namedEncoding } from "../text/plain-text.ts";
import { ZipParts } from "./zip.ts";

const programs = {
  docx: { program: "Word", called: "a Word document", old: ".doc" },
  pptx: { program: "PowerPoint", called: "a PowerPoint presentation", old: ".ppt" },
  xlsx: { program: "Excel", called: "an Excel workbook", old: ".xls" },
};

/** What `read` makes of an Office file's parts; explains if the file is damaged or encrypted. */
export async function officeParts<Result>(
  bytes: Uint8Array,
  limits: ReadLimits,
  format: keyof typeof programs,
  read: (parts: ZipParts) => Result,
): Promise<Awaited<Result>> {
  const { program, called, old } = programs[format];
  // Office wraps encrypted files in the container of its old formats.
  if ([0xd0, 0xcf, 0x11, 0xe0].every((byte, index) => bytes[index] === byte)) {
    throw unreadable(
      `is encrypted or in the old ${old} format; save it as .${format} without a password`,
    );
  }
  try {
    return await read(new ZipParts(bytes, limits));
  } catch (cause) {
    const remedy = `open it in ${program} and save it again as .${format}`;
    throw asUnreadable(cause, `is damaged or not ${called}; ${remedy}`);
  }
}

/** How the parts of an Office file refer to each other (OPC). What lies outside of the file is never looked at. */
export interface Relationship {
  /** The last word of its type, such as `slide` or `notesSlide`. */
  type: string;
  target: string;
}

/** The part that the file is about, such as `ppt/presentation.xml`. */
export function mainPart(parts: ZipParts): string {
  const all = [...relationshipsOf(parts, "").values()];
  const main = all.find(({ type }) => type === "officeDocument");
  if (main === undefined) throw new Error("it does not say which of its parts is the first");
  return main.target;
}

/** A part's relationships by id; `""` stands for the file itself. */
export function relationshipsOf(parts: ZipParts, part: string): Map<string, Relationship> {
  const folder = posix.dirname(part);
  const name = posix.join(folder, "_rels", `${posix.basename(part)}.rels`);
  const relationships = new Map<string, Relationship>();
  const xml = parts.find(name);
  if (xml === undefined) return relationships;
  parseXml(xml, {
    open: (element, attributes) => {
      const { Id: id = "", Type: type = "", Target: target = "", TargetMode: mode } = attributes;
      if (element !== "Relationship" || mode?.toLowerCase() === "external") return;
      relationships.set(id, {
        type: type.slice(type.lastIndexOf("/") + 1),
        target: partIn(folder, target),
      });
    },
  });
  return relationships;
}

/** A path from a folder of the file as the name of a part; it cannot lead out of the file. */
export const partIn = (folder: string, path: string): string =>
  posix.join("/", path.startsWith("/") ? "" : folder, path).slice(1);

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

/** XML as events; throws an `Error` if it is not well-formed. Entities that a file defines are not expanded. */
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
