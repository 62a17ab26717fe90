/** What is not a document, told by its first bytes or by its name: pictures, archives, recordings, programs. */

/** Why a kind of file is not read, and what to do instead. */
const advice = {
  image: "and text in pictures is not read; run it through OCR first, and add the text or the PDF",
  archive: "and archives are not read; unpack it, and add the files that are in it",
  recording: "and recordings are not read; have it written down first, and add the text",
  program: "and programs are not read",
  data: "and holds no text that is read",
  office: "which is not read; save it as .docx, .xlsx or .pptx",
  mail: "which is not read; save the message as .eml",
};

type Kind = keyof typeof advice;

const because = (called: string, kind: Kind): string => `is ${called}, ${advice[kind]}`;

interface Signature {
  at?: number;
  bytes: readonly number[] | string;
  /** What follows somewhere else, where the first bytes could be anything. */
  and?: { at: number; bytes: string };
  called: string;
  kind: Kind;
}

const signatures: readonly Signature[] = [
  { bytes: "\x89PNG\r\n\x1a\n", called: "a PNG image", kind: "image" },
  { bytes: [0xff, 0xd8, 0xff], called: "a JPEG image", kind: "image" },
  { bytes: "GIF87a", called: "a GIF image", kind: "image" },
  { bytes: "GIF89a", called: "a GIF image", kind: "image" },
  { bytes: "RIFF", and: { at: 8, bytes: "WEBP" }, called: "a WebP image", kind: "image" },
  { bytes: "II*\0", called: "a TIFF image", kind: "image" },
  { bytes: "MM\0*", called: "a TIFF image", kind: "image" },
  { bytes: "BM", and: { at: 6, bytes: "\0\0\0\0" }, called: "a BMP image", kind: "image" },
  { bytes: [0, 0, 1, 0], called: "an icon", kind: "image" },
  { bytes: "8BPS", called: "a Photoshop image", kind: "image" },
  { at: 4, bytes: "ftypheic", called: "a HEIC image", kind: "image" },
  { at: 4, bytes: "ftypmif1", called: "a HEIF image", kind: "image" },
  { at: 4, bytes: "ftypavif", called: "an AVIF image", kind: "image" },
  { bytes: "AT&TFORM", called: "a DjVu scan", kind: "image" },
  { bytes: [0x1f, 0x8b, 0x08], called: "a gzip archive", kind: "archive" },
  { bytes: "BZh", and: { at: 4, bytes: "1AY&SY" }, called: "a bzip2 archive", kind: "archive" },
  { bytes: "\xfd7zXZ\0", called: "an xz archive", kind: "archive" },
  { bytes: "7z\xbc\xaf\x27\x1c", called: "a 7-Zip archive", kind: "archive" },
  { bytes: "Rar!\x1a\x07", called: "a RAR archive", kind: "archive" },
  { bytes: [0x28, 0xb5, 0x2f, 0xfd], called: "a Zstandard archive", kind: "archive" },
  { bytes: "MSCF\0\0\0\0", called: "a cabinet archive", kind: "archive" },
  { at: 257, bytes: "ustar", called: "a tar archive", kind: "archive" },
  { at: 4, bytes: "ftyp", called: "an MP4 recording", kind: "recording" },
  { bytes: "ID3", called: "an MP3 recording", kind: "recording" },
  { bytes: "OggS", called: "an Ogg recording", kind: "recording" },
  { bytes: "fLaC", called: "a FLAC recording", kind: "recording" },
  { bytes: "RIFF", and: { at: 8, bytes: "WAVE" }, called: "a WAV recording", kind: "recording" },
  { bytes: "RIFF", and: { at: 8, bytes: "AVI " }, called: "an AVI recording", kind: "recording" },
  { bytes: [0x1a, 0x45, 0xdf, 0xa3], called: "a Matroska recording", kind: "recording" },
  { bytes: "MZ", called: "a program for Windows", kind: "program" },
  { bytes: "\x7fELF", called: "a program for Linux", kind: "program" },
  { bytes: [0xcf, 0xfa, 0xed, 0xfe], called: "a program for macOS", kind: "program" },
  { bytes: [0xca, 0xfe, 0xba, 0xbe], called: "a compiled program", kind: "program" },
  { bytes: "\0asm", called: "a WebAssembly program", kind: "program" },
  { bytes: "SQLite format 3\0", called: "an SQLite database", kind: "data" },
  { bytes: "GGUF", called: "a GGUF model", kind: "data" },
  { bytes: "wOFF", called: "a font", kind: "data" },
  { bytes: "wOF2", called: "a font", kind: "data" },
];

/** Why bytes cannot be read, where their beginning says so. Only bytes that are not text are judged. */
export function refusedContent(bytes: Uint8Array): string | undefined {
  if (startsWith(bytes, "{\\rtf")) return because("rich text (RTF)", "office");
  const head = bytes.subarray(0, 512);
  if (!head.some((byte) => byte < 9 || (byte > 13 && byte < 32 && byte !== 27))) return undefined;
  const found = signatures.find(
    ({ at = 0, bytes: first, and }) =>
      startsWith(bytes, first, at) && (and === undefined || startsWith(bytes, and.bytes, and.at)),
  );
  return found === undefined ? undefined : because(found.called, found.kind);
}

export function startsWith(
  bytes: Uint8Array,
  expected: readonly number[] | string,
  at = 0,
): boolean {
  const codes =
    typeof expected === "string"
      ? Array.from(expected, (letter) => letter.charCodeAt(0))
      : expected;
  return codes.every((code, index) => bytes[at + index] === code);
}

const names: readonly { kind: Kind; called: string; extensions: string }[] = [
  {
    kind: "image",
    called: "an image",
    extensions:
      "png jpg jpeg jpe gif webp tif tiff bmp heic heif avif jp2 jxl ico psd svg djvu djv pbm pgm ppm pnm xbm exr",
  },
  {
    kind: "archive",
    called: "an archive",
    extensions: "zip tar gz tgz bz2 tbz2 xz txz 7z rar zst cab jar war apk iso dmg",
  },
  {
    kind: "recording",
    called: "a recording",
    extensions:
      "mp3 m4a wav flac ogg opus aac aif aiff au wma amr mid mp4 m4v mov mkv webm avi wmv",
  },
  {
    kind: "office",
    called: "an old or another office format",
    extensions: "doc dot xls xlt xlsb ppt pps rtf odt ods odp pages numbers key wpd",
  },
  { kind: "mail", called: "an Outlook file", extensions: "msg pst ost" },
  { kind: "program", called: "a program", extensions: "exe dll so dylib msi class wasm bin" },
];

const byName = new Map<string, { kind: Kind; called: string }>(
  names.flatMap(({ kind, called, extensions }) =>
    extensions.split(" ").map((extension) => [`.${extension}`, { kind, called }] as const),
  ),
);

/** Why files of an ending are not read, where more can be said than that. */
export function refusedName(extension: string): string | undefined {
  const found = byName.get(extension);
  return found === undefined ? undefined : because(found.called, found.kind);
}

/** Whether files of an ending are pictures, whose text OCR could find. */
export const isImageName = (extension: string): boolean => byName.get(extension)?.kind === "image";

export const archive = because("an archive (zip)", "archive");
export const otherOffice = (called: string): string => because(called, "office");
export const oldOffice = `${because("in an old Office format (.doc, .xls, .ppt), encrypted, or an Outlook message", "office")}, or an e-mail as .eml`;
