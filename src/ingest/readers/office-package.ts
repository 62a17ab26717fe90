/** How the parts of an Office file refer to each other (OPC). What lies outside of the file is never looked at. */
import { posix } from "node:path";
import { parseXml, type XmlAttributes } from "./xml.ts";
import type { ZipParts } from "./zip-parts.ts";

export interface Relationship {
  /** The last word of its type, such as `slide` or `notesSlide`. */
  type: string;
  /** The name of a part of the same file. */
  target: string;
}

/** The part that the file is about, such as `ppt/presentation.xml`. */
export function mainPart(parts: ZipParts): string {
  const main = [...relationshipsOf(parts, "").values()].find(
    ({ type }) => type === "officeDocument",
  );
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
      if (element !== "Relationship" || isOutside(attributes)) return;
      const { Id: id = "", Type: type = "", Target: target = "" } = attributes;
      relationships.set(id, {
        type: type.slice(type.lastIndexOf("/") + 1),
        target: partIn(folder, target),
      });
    },
  });
  return relationships;
}

const isOutside = ({ TargetMode: mode = "" }: XmlAttributes): boolean =>
  mode.toLowerCase() === "external";

/** A path from a folder of the file as the name of a part; it cannot lead out of the file. */
export const partIn = (folder: string, path: string): string =>
  posix.join("/", path.startsWith("/") ? "" : folder, path).slice(1);
