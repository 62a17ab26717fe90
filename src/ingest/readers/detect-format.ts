/** What a file is, by its content first: a name, or what a client says, may be wrong or a lie. */
import {
  archive,
  oldOffice,
  otherOffice,
  refusedContent,
  refusedName,
  startsWith,
} from "./content-kinds.ts";
import {
  claimedFormat,
  documentExtensions,
  extensionOf,
  type Format,
  formatMediaType,
} from "./formats.ts";
import { defaultLimits, unreadable, unsupported } from "./limits.ts";
import { ZipParts } from "./office/zip.ts";

/**
 * The format of a file. Formats with a signature (PDF, Office, EPUB) are told by it, whatever the
 * name; text is the kind of text that the name says. Throws for what is not read, with what to do
 * instead. It unpacks no more than the list of a file's parts, so it takes milliseconds.
 */
export function detectFormat(bytes: Uint8Array, name: string): Format {
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

/** The media type of an upload, which may be anything, by its first bytes alone; a reader looks at the whole file. */
export function mediaTypeOf(filename: string, head: Uint8Array): string {
  const begin = new TextDecoder("latin1").decode(head);
  const claimed = claimedFormat(filename);
  if (begin.startsWith("PK\x03\x04")) {
    const named = begin.includes("[Content_Types].xml") && isPackage(claimed) ? claimed : undefined;
    const format = packages.find(([part]) => begin.includes(part))?.[1] ?? named;
    return format === undefined ? "application/zip" : formatMediaType(format, filename);
  }
  const sign = Object.keys(signatures).find((known) => begin.startsWith(known));
  if (sign !== undefined) return signatures[sign] ?? binary;
  if (!isText(head)) return binary;
  if (extensionOf(filename) === ".json") return "application/json";
  const text = claimed === undefined || claimed === "pdf" || isPackage(claimed) ? "text" : claimed;
  return formatMediaType(text, filename);
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

/** By how their bytes begin, as text of one byte a character. */
const signatures: Readonly<Record<string, string>> = {
  "%PDF-": "application/pdf",
  "\x89PNG\r\n": "image/png",
  "\xff\xd8\xff": "image/jpeg",
  GIF87a: "image/gif",
  GIF89a: "image/gif",
  "II*\0": "image/tiff",
  "MM\0*": "image/tiff",
  "\x1f\x8b": "application/gzip",
  "\xd0\xcf\x11\xe0": "application/x-ole-storage",
};

/** Names of parts that a package begins with. */
const packages: readonly (readonly [part: string, format: Format])[] = [
  ["mimetypeapplication/epub+zip", "epub"],
  ["word/", "docx"],
  ["ppt/", "pptx"],
  ["xl/", "xlsx"],
];

const binary = "application/octet-stream";

/** Texts have no NUL, except those of two bytes a letter, which say so. */
const isText = (head: Uint8Array): boolean =>
  !head.includes(0) ||
  (head[0] === 0xff && head[1] === 0xfe) ||
  (head[0] === 0xfe && head[1] === 0xff);

/** The list of a file's parts and types; real ones have some kilobytes. */
const listLimits = { ...defaultLimits, max_unpacked_bytes: 4 << 20 };

const packageTypes: readonly { says: RegExp; format: Format }[] = [
  {
    says: /wordprocessingml\.\w+\.main\+xml|ms-word\.\w+\.macroEnabled\.main\+xml/i,
    format: "docx",
  },
  {
    says: /presentationml\.\w+\.main\+xml|ms-powerpoint\.\w+\.macroEnabled\.main\+xml/i,
    format: "pptx",
  },
  { says: /spreadsheetml\.\w+\.main\+xml|ms-excel\.\w+\.macroEnabled\.main\+xml/i, format: "xlsx" },
];

/** The format of a zip file; undefined where it is damaged. An archive, or what else is a zip, is refused. */
function zipFormat(bytes: Uint8Array): Format | undefined {
  const text = (part: Uint8Array): string => new TextDecoder().decode(part);
  let parts: ZipParts;
  let mimetype: string;
  let contentTypes: string;
  try {
    parts = new ZipParts(bytes, listLimits);
    mimetype = text(parts.find("mimetype") ?? new Uint8Array()).trim();
    contentTypes = text(parts.find("[Content_Types].xml") ?? new Uint8Array());
  } catch {
    return undefined;
  }
  if (mimetype === "application/epub+zip" || parts.has("META-INF/container.xml")) return "epub";
  const format = packageTypes.find(({ says }) => says.test(contentTypes))?.format;
  if (format !== undefined) return format;
  if (mimetype.startsWith("application/vnd.oasis.opendocument")) {
    throw unsupported(otherOffice("an OpenDocument file"));
  }
  if (/ms-excel\.sheet\.binary/i.test(contentTypes)) {
    throw unsupported(otherOffice("a binary Excel workbook (.xlsb)"));
  }
  if (parts.has("Index/Document.iwa")) throw unsupported(otherOffice("an iWork file"));
  throw unsupported(archive);
}

const usualHeaders =
  /^(?:from|to|subject|date|message-id|mime-version|received|return-path|delivered-to|reply-to)$/i;
/** So many usual ones tell an e-mail from a text with a colon in its first lines. */
const enoughHeaders = 2;

const header = /^([!-9;-~]{1,76})[ \t]*:/;

/** Whether a text, the beginning of a file read as Latin-1, has header lines that only e-mails have. */
function isMail(text: string): boolean {
  const lines = withoutMailbox(text).split(/\r?\n/);
  let found = 0;
  for (const line of lines) {
    if (/^[ \t]+\S/.test(line)) continue;
    const name = header.exec(line)?.[1];
    if (name === undefined) break;
    if (usualHeaders.test(name)) found += 1;
  }
  return found >= enoughHeaders;
}

/** Whether a text begins as an e-mail does, be it one that somebody sent or only a part of one. */
export const beginsWithHeader = (text: string): boolean => header.test(withoutMailbox(text));

/** Mailboxes begin a message with a line of their own. */
const withoutMailbox = (text: string): string =>
  text.replace(/^\s+/, "").replace(/^From [^\n]*\n/, "");
