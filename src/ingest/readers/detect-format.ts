/** Detects a file's format, by its content first: its name, or what a client claims, may be wrong or a lie. */
import {
  claimedFormat,
  documentExtensions,
  extensionOf,
  type Format,
  formatMediaType,
} from "./formats.ts";
import { defaultLimits, unreadable, unsupported } from "./limits.ts";
import { ZipParts } from "./office/zip.ts";
import { markedEncoding } from "./text/plain-text.ts";

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
  if (startsWith(bytes, oleSignature)) {
    // Its reader knows what the name should have been.
    if (isPackage(claimed) && claimed !== "epub") return claimed;
    throw unsupported(oldOffice);
  }
  const refused = refusedContent(bytes);
  if (refused !== undefined) throw unsupported(because(refused.called, refused.kind));
  const known = byName.get(extensionOf(name));
  if (known !== undefined) throw unsupported(`is ${known.called}, ${known.advice}`);
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
    const format = begin.includes("mimetypeapplication/epub+zip")
      ? "epub"
      : (packages.find(({ folder }) => begin.includes(folder))?.format ?? named);
    return format === undefined ? "application/zip" : formatMediaType(format, filename);
  }
  if (begin.startsWith("%PDF-")) return formatMediaType("pdf", filename);
  if (startsWith(head, oleSignature)) return "application/x-ole-storage";
  const sign = signatures.find((each) => each.type !== undefined && isSigned(head, each));
  if (sign?.type !== undefined) return sign.type;
  if (!isText(head)) return "application/octet-stream";
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

/** Old Office formats, encrypted new ones, and Outlook messages. */
const oleSignature = "\xd0\xcf\x11\xe0";

/** Texts have no NUL, except those of two bytes a letter, which say so. */
const isText = (head: Uint8Array): boolean =>
  !head.includes(0) || markedEncoding(head)?.startsWith("utf-16") === true;

/** The list of a file's parts and types; real ones have some kilobytes. */
const listLimits = { ...defaultLimits, max_unpacked_bytes: 4 << 20 };

/** Office formats by the folder of their parts, and by their content type. */
const packages = (
  [
    ["docx", "word/", "wordprocessingml", "ms-word"],
    ["pptx", "ppt/", "presentationml", "ms-powerpoint"],
    ["xlsx", "xl/", "spreadsheetml", "ms-excel"],
  ] as const
).map(([format, folder, kind, old]) => {
  const type = `${kind}\\.\\w+\\.main\\+xml|${old}\\.\\w+\\.macroEnabled\\.main\\+xml`;
  return { format, folder, says: new RegExp(type, "i") };
});

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
  const format = packages.find(({ says }) => says.test(contentTypes))?.format;
  if (format !== undefined) return format;
  if (mimetype.startsWith("application/vnd.oasis.opendocument")) {
    throw unsupported(because("an OpenDocument file", "office"));
  }
  if (/ms-excel\.sheet\.binary/i.test(contentTypes)) {
    throw unsupported(because("a binary Excel workbook (.xlsb)", "office"));
  }
  if (parts.has("Index/Document.iwa")) throw unsupported(because("an iWork file", "office"));
  throw unsupported(because("an archive (zip)", "archive"));
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

/** Kinds of files that are not read: why, what to do instead, and the endings of their names. */
const kinds = {
  image: {
    advice:
      "and text in pictures is not read; run it through OCR first, and add the text or the PDF",
    called: "an image",
    extensions:
      "png jpg jpeg jpe gif webp tif tiff bmp heic heif avif jp2 jxl ico psd svg djvu djv pbm pgm ppm pnm xbm exr",
  },
  archive: {
    advice: "and archives are not read; unpack it, and add the files that are in it",
    called: "an archive",
    extensions: "zip tar gz tgz bz2 tbz2 xz txz 7z rar zst cab jar war apk iso dmg",
  },
  recording: {
    advice: "and recordings are not read; have it written down first, and add the text",
    called: "a recording",
    extensions:
      "mp3 m4a wav flac ogg opus aac aif aiff au wma amr mid mp4 m4v mov mkv webm avi wmv",
  },
  program: {
    advice: "and programs are not read",
    called: "a program",
    extensions: "exe dll so dylib msi class wasm bin",
  },
  office: {
    advice: "which is not read; save it as .docx, .xlsx or .pptx",
    called: "an old or another office format",
    extensions: "doc dot xls xlt xlsb ppt pps rtf odt ods odp pages numbers key wpd",
  },
  mail: {
    advice: "which is not read; save the message as .eml",
    called: "an Outlook file",
    extensions: "msg pst ost",
  },
  data: { advice: "and holds no text that is read", called: "data", extensions: "" },
} as const;

type Kind = keyof typeof kinds;

const because = (called: string, kind: Kind): string => `is ${called}, ${kinds[kind].advice}`;

interface Signature {
  at?: number;
  bytes: string;
  /** What follows somewhere else, where the first bytes could be anything. */
  and?: { at: number; bytes: string };
  called: string;
  kind: Kind;
  /** The media type of an upload; default: that of any bytes. */
  type?: string;
}

const signatures: readonly Signature[] = [
  { bytes: "\x89PNG\r\n\x1a\n", called: "a PNG image", kind: "image", type: "image/png" },
  { bytes: "\xff\xd8\xff", called: "a JPEG image", kind: "image", type: "image/jpeg" },
  { bytes: "GIF87a", called: "a GIF image", kind: "image", type: "image/gif" },
  { bytes: "GIF89a", called: "a GIF image", kind: "image", type: "image/gif" },
  { bytes: "RIFF", and: { at: 8, bytes: "WEBP" }, called: "a WebP image", kind: "image" },
  { bytes: "II*\0", called: "a TIFF image", kind: "image", type: "image/tiff" },
  { bytes: "MM\0*", called: "a TIFF image", kind: "image", type: "image/tiff" },
  { bytes: "BM", and: { at: 6, bytes: "\0\0\0\0" }, called: "a BMP image", kind: "image" },
  { bytes: "\x00\x00\x01\x00", called: "an icon", kind: "image" },
  { bytes: "8BPS", called: "a Photoshop image", kind: "image" },
  { at: 4, bytes: "ftypheic", called: "a HEIC image", kind: "image" },
  { at: 4, bytes: "ftypmif1", called: "a HEIF image", kind: "image" },
  { at: 4, bytes: "ftypavif", called: "an AVIF image", kind: "image" },
  { bytes: "AT&TFORM", called: "a DjVu scan", kind: "image" },
  { bytes: "\x1f\x8b\x08", called: "a gzip archive", kind: "archive", type: "application/gzip" },
  { bytes: "BZh", and: { at: 4, bytes: "1AY&SY" }, called: "a bzip2 archive", kind: "archive" },
  { bytes: "\xfd7zXZ\0", called: "an xz archive", kind: "archive" },
  { bytes: "7z\xbc\xaf\x27\x1c", called: "a 7-Zip archive", kind: "archive" },
  { bytes: "Rar!\x1a\x07", called: "a RAR archive", kind: "archive" },
  { bytes: "\x28\xb5\x2f\xfd", called: "a Zstandard archive", kind: "archive" },
  { bytes: "MSCF\0\0\0\0", called: "a cabinet archive", kind: "archive" },
  { at: 257, bytes: "ustar", called: "a tar archive", kind: "archive" },
  { at: 4, bytes: "ftyp", called: "an MP4 recording", kind: "recording" },
  { bytes: "ID3", called: "an MP3 recording", kind: "recording" },
  { bytes: "OggS", called: "an Ogg recording", kind: "recording" },
  { bytes: "fLaC", called: "a FLAC recording", kind: "recording" },
  { bytes: "RIFF", and: { at: 8, bytes: "WAVE" }, called: "a WAV recording", kind: "recording" },
  { bytes: "RIFF", and: { at: 8, bytes: "AVI " }, called: "an AVI recording", kind: "recording" },
  { bytes: "\x1a\x45\xdf\xa3", called: "a Matroska recording", kind: "recording" },
  { bytes: "MZ", called: "a program for Windows", kind: "program" },
  { bytes: "\x7fELF", called: "a program for Linux", kind: "program" },
  { bytes: "\xcf\xfa\xed\xfe", called: "a program for macOS", kind: "program" },
  { bytes: "\xca\xfe\xba\xbe", called: "a compiled program", kind: "program" },
  { bytes: "\0asm", called: "a WebAssembly program", kind: "program" },
  { bytes: "SQLite format 3\0", called: "an SQLite database", kind: "data" },
  { bytes: "GGUF", called: "a GGUF model", kind: "data" },
  { bytes: "wOFF", called: "a font", kind: "data" },
  { bytes: "wOF2", called: "a font", kind: "data" },
];

/** What bytes that cannot be read are, where their beginning says so. Only bytes that are not text are judged. */
function refusedContent(bytes: Uint8Array): Pick<Signature, "called" | "kind"> | undefined {
  if (startsWith(bytes, "{\\rtf")) return { called: "rich text (RTF)", kind: "office" };
  const head = bytes.subarray(0, 512);
  if (!head.some((byte) => byte < 9 || (byte > 13 && byte < 32 && byte !== 27))) return undefined;
  return signatures.find((each) => isSigned(bytes, each));
}

const isSigned = (bytes: Uint8Array, { at = 0, bytes: first, and }: Signature): boolean =>
  startsWith(bytes, first, at) && (and === undefined || startsWith(bytes, and.bytes, and.at));

const startsWith = (bytes: Uint8Array, expected: string, at = 0): boolean =>
  Buffer.from(expected, "latin1").equals(bytes.subarray(at, at + expected.length));

const byName = new Map<string, { called: string; advice: string }>(
  Object.values(kinds).flatMap((kind) =>
    [...kind.extensions.matchAll(/\S+/g)].map(([extension]) => [`.${extension}`, kind]),
  ),
);

/** Whether files of an ending are pictures, whose text OCR could find. */
export const isImageName = (extension: string): boolean => byName.get(extension) === kinds.image;

const oldOffice = `${because("in an old Office format (.doc, .xls, .ppt), encrypted, or an Outlook message", "office")}, or an e-mail as .eml`;
