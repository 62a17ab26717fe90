/** What a file is, by its content first: a name, or what a client says, may be wrong or a lie. */
import { oldOffice, refusedContent, refusedName, startsWith } from "./content-kinds.ts";
import { extensionOf } from "./extension.ts";
import { claimedFormat, documentExtensions, type Format, mediaTypeOf } from "./formats.ts";
import { isMail } from "./mail-headers.ts";
import { unreadable, unsupported } from "./unreadable.ts";
import { zipFormat } from "./zip-format.ts";

export interface DetectedFormat {
  format: Format;
  mediaType: string;
}

/**
 * The format of a file. Formats with a signature (PDF, Office, EPUB) are told by it, whatever the
 * name; what is text is the kind of text that the name says. Throws for what is not read, with what
 * to do instead. It unpacks no more than the list of a file's parts, so it takes milliseconds.
 */
export function detectFormat(bytes: Uint8Array, name: string): DetectedFormat {
  const format = formatOf(bytes, name);
  return { format, mediaType: mediaTypeOf(format, name) };
}

function formatOf(bytes: Uint8Array, name: string): Format {
  const claimed = claimedFormat(name);
  if (isZip(bytes)) {
    const found = zipFormat(bytes) ?? (isPackage(claimed) ? claimed : undefined);
    if (found === undefined) throw unreadable("is a damaged archive (zip)");
    return found;
  }
  if (isPdf(bytes)) return "pdf";
  if (startsWith(bytes, [0xd0, 0xcf, 0x11, 0xe0])) {
    // Its reader knows what the name should have been.
    if (isPackage(claimed) && claimed !== "epub") return claimed;
    throw unsupported(oldOffice);
  }
  const refusal = refusedContent(bytes) ?? refusedName(extensionOf(name));
  if (refusal !== undefined) throw unsupported(refusal);
  const format = claimed ?? textFormat(bytes);
  if (format === undefined) throw unsupported(unknown(extensionOf(name)));
  return format;
}

const isZip = (bytes: Uint8Array): boolean =>
  startsWith(bytes, "PK\x03\x04") || startsWith(bytes, "PK\x05\x06");

/** A text about PDF may begin with the same word, but not with the same line. */
const isPdf = (bytes: Uint8Array): boolean => /^%PDF-\d\.\d ?[\r\n%]/.test(start(bytes, 16));

const isPackage = (format: Format | undefined): format is "docx" | "pptx" | "xlsx" | "epub" =>
  format !== undefined && ["docx", "pptx", "xlsx", "epub"].includes(format);

/** What a text is whose name does not say it. */
function textFormat(bytes: Uint8Array): Format | undefined {
  const text = start(bytes, 4096);
  if (/^\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype html|<html)[\s>]/i.test(text)) return "html";
  return isMail(text) ? "eml" : undefined;
}

const start = (bytes: Uint8Array, length: number): string =>
  new TextDecoder("latin1").decode(bytes.subarray(0, length));

function unknown(extension: string): string {
  const kind = extension === "" ? "files without an extension" : `'${extension}' files`;
  return `Paddock does not read ${kind}; it reads ${documentExtensions.join(", ")} and source code`;
}
