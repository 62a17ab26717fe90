/** An Office file that is opened, and refused in words for a person where it is damaged or encrypted. */
import { NodeError } from "../../core/errors.ts";
import type { ReadLimits } from "./limits.ts";
import { unreadable } from "./unreadable.ts";
import { ZipParts } from "./zip-parts.ts";

const programs = {
  docx: { program: "Word", called: "a Word document", old: ".doc" },
  pptx: { program: "PowerPoint", called: "a PowerPoint presentation", old: ".ppt" },
  xlsx: { program: "Excel", called: "an Excel workbook", old: ".xls" },
};

export type OfficeFormat = keyof typeof programs;

/** What is read from the file's parts. */
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

/** What an error of reading means to whoever has the file. */
export function damaged(cause: unknown, format: OfficeFormat): NodeError {
  if (cause instanceof NodeError) return cause;
  const { program, called } = programs[format];
  return unreadable(
    `is damaged or not ${called}; open it in ${program} and save it again as .${format}`,
    cause,
  );
}
