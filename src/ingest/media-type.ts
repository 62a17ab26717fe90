/** What a file is, by its first bytes; a text's name says what kind of text. */
import { extname } from "node:path";

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

const office = "application/vnd.openxmlformats-officedocument";
/** Names of parts that a package begins with. */
const packages: Readonly<Record<string, string>> = {
  "mimetypeapplication/epub+zip": "application/epub+zip",
  "word/": `${office}.wordprocessingml.document`,
  "ppt/": `${office}.presentationml.presentation`,
  "xl/": `${office}.spreadsheetml.sheet`,
};
const packageTypes: Readonly<Record<string, string>> = {
  ".docx": `${office}.wordprocessingml.document`,
  ".pptx": `${office}.presentationml.presentation`,
  ".xlsx": `${office}.spreadsheetml.sheet`,
};

const texts: Readonly<Record<string, string>> = {
  ".md": "text/markdown",
  ".markdown": "text/markdown",
  ".html": "text/html",
  ".htm": "text/html",
  ".xhtml": "text/html",
  ".csv": "text/csv",
  ".tsv": "text/tab-separated-values",
  ".json": "application/json",
  ".jsonl": "application/jsonl",
  ".ndjson": "application/jsonl",
  ".eml": "message/rfc822",
};

export function mediaTypeOf(filename: string, head: Uint8Array): string {
  const extension = extname(filename).toLowerCase();
  const begin = new TextDecoder("latin1").decode(head);
  const typeBy = (
    types: Readonly<Record<string, string>>,
    fits: (sign: string) => boolean,
  ): string | undefined => types[Object.keys(types).find(fits) ?? ""];
  if (begin.startsWith("PK\x03\x04")) {
    const named = begin.includes("[Content_Types].xml") ? packageTypes[extension] : undefined;
    return typeBy(packages, (part) => begin.includes(part)) ?? named ?? "application/zip";
  }
  const known = typeBy(signatures, (sign) => begin.startsWith(sign));
  if (known !== undefined) return known;
  return isText(head) ? (texts[extension] ?? "text/plain") : "application/octet-stream";
}

/** Texts have no NUL, except those of two bytes a letter, which say so. */
const isText = (head: Uint8Array): boolean =>
  !head.includes(0) ||
  (head[0] === 0xff && head[1] === 0xfe) ||
  (head[0] === 0xfe && head[1] === 0xff);
