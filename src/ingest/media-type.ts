/** What a file is, by its first bytes; a text's name says what kind of text. */
import { extensionOf } from "./readers/extension.ts";
import { claimedFormat, type Format, mediaTypeOf as formatMediaType } from "./readers/formats.ts";

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

/** For a list of uploads, which may be anything; whoever reads a file looks at the whole of it. */
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

const binary = "application/octet-stream";

/** Texts have no NUL, except those of two bytes a letter, which say so. */
const isText = (head: Uint8Array): boolean =>
  !head.includes(0) ||
  (head[0] === 0xff && head[1] === 0xfe) ||
  (head[0] === 0xfe && head[1] === 0xff);

const isPackage = (format: Format | undefined): boolean =>
  packages.some(([, packed]) => packed === format);
