/** What a zip file is: Word, PowerPoint, Excel and EPUB are told apart by what they say inside. */
import { archive, otherOffice } from "./content-kinds.ts";
import type { Format } from "./formats.ts";
import { defaultLimits } from "./limits.ts";
import { unsupported } from "./unreadable.ts";
import { ZipParts } from "./zip-parts.ts";

/** The list of a file's parts and types; real ones have some kilobytes. */
const limits = { ...defaultLimits, max_unpacked_bytes: 4 << 20 };

const types: readonly { says: RegExp; format: Format }[] = [
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
export function zipFormat(bytes: Uint8Array): Format | undefined {
  const text = (part: Uint8Array): string => new TextDecoder().decode(part);
  let parts: ZipParts;
  let mimetype: string;
  let contentTypes: string;
  try {
    parts = new ZipParts(bytes, limits);
    mimetype = text(parts.find("mimetype") ?? new Uint8Array()).trim();
    contentTypes = text(parts.find("[Content_Types].xml") ?? new Uint8Array());
  } catch {
    return undefined;
  }
  if (mimetype === "application/epub+zip" || parts.has("META-INF/container.xml")) return "epub";
  const format = types.find(({ says }) => says.test(contentTypes))?.format;
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
