/** Opens Office files; explains if one is damaged or encrypted. */

import { posix } from "node:path";
import type { NodeError } from "../../../core/errors.ts";
import { asUnreadable, type ReadLimits, unreadable } from "../limits.ts";
import { parseXml } from "./xml.ts";
import { ZipParts } from "./zip.ts";

const programs = {
  docx: { program: "Word", called: "a Word document", old: ".doc" },
  pptx: { program: "PowerPoint", called: "a PowerPoint presentation", old: ".ppt" },
  xlsx: { program: "Excel", called: "an Excel workbook", old: ".xls" },
};

export type OfficeFormat = keyof typeof programs;

export function officeParts<Result>(
  bytes: Uint8Array,
  limits: ReadLimits,
  format: OfficeFormat,
  read: (parts: ZipParts) => Result,
): Result {
  refuseOldOffice(bytes, format);
  try {
    return read(new ZipParts(bytes, limits));
  } catch (cause) {
    throw damaged(cause, format);
  }
}

/** Office wraps encrypted files in the container of its old formats. */
export function refuseOldOffice(bytes: Uint8Array, format: OfficeFormat): void {
  if (![0xd0, 0xcf, 0x11, 0xe0].every((byte, index) => bytes[index] === byte)) return;
  const { old } = programs[format];
  throw unreadable(
    `is encrypted or in the old ${old} format; save it as .${format} without a password`,
  );
}

export function damaged(cause: unknown, format: OfficeFormat): NodeError {
  const { program, called } = programs[format];
  return asUnreadable(
    cause,
    `is damaged or not ${called}; open it in ${program} and save it again as .${format}`,
  );
}

/** How the parts of an Office file refer to each other (OPC). What lies outside of the file is never looked at. */
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
