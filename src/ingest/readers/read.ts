/** Turns the files that ingest takes into text, each by the reader of its format. */
import { extname } from "node:path";
import { beyond, defaultLimits, type ReadLimits } from "./limits.ts";
import { unreadable } from "./unreadable.ts";

export interface ReadOptions {
  /** Column of a CSV, or field of a JSONL record, that holds the text; default: the first of some usual names that is there. */
  textField?: string;
  limits: ReadLimits;
}

/** Texts that are cut separately, as Markdown: one for a page of prose, one for each record of data. */
export type ReadText = readonly string[];

type Reader = (bytes: Uint8Array, options: ReadOptions) => ReadText | Promise<ReadText>;

// Readers are loaded when the first file of their format comes: Word alone takes a tenth of a second.
const markdown: Reader = async (bytes) => (await import("./plain-text.ts")).readMarkdown(bytes);
const plainText: Reader = async (bytes) => (await import("./plain-text.ts")).readPlainText(bytes);
const html: Reader = async (bytes, options) => (await import("./html.ts")).readHtml(bytes, options);
const pdf: Reader = async (bytes, options) => (await import("./pdf.ts")).readPdf(bytes, options);
const docx: Reader = async (bytes, options) => (await import("./docx.ts")).readDocx(bytes, options);
const csv: Reader = async (bytes, options) => (await import("./csv.ts")).readCsv(bytes, options);
const tsv: Reader = async (bytes, options) => (await import("./csv.ts")).readTsv(bytes, options);
const jsonl: Reader = async (bytes, options) =>
  (await import("./jsonl.ts")).readJsonl(bytes, options);

const readers = new Map<string, Reader>([
  [".md", markdown],
  [".markdown", markdown],
  [".mdx", markdown],
  [".txt", plainText],
  [".text", plainText],
  [".rst", plainText],
  [".adoc", plainText],
  [".org", plainText],
  [".html", html],
  [".htm", html],
  [".xhtml", html],
  [".pdf", pdf],
  [".docx", docx],
  [".csv", csv],
  [".tsv", tsv],
  [".jsonl", jsonl],
  [".ndjson", jsonl],
]);

/** Extensions with a dot, in lower case, that can be read. */
export const readableExtensions: readonly string[] = [...readers.keys()];

/** Turns a file's bytes into texts; `name` decides the format by its extension. */
export async function readDocument(
  name: string,
  bytes: Uint8Array,
  { limits = defaultLimits, ...options }: Partial<ReadOptions> = {},
): Promise<ReadText> {
  const extension = extname(name).toLowerCase();
  const read = readers.get(extension);
  if (read === undefined) {
    const kind = extension === "" ? "files without an extension" : `'${extension}' files`;
    throw unreadable(`Paddock does not read ${kind}; it reads ${readableExtensions.join(", ")}`);
  }
  if (bytes.length > limits.max_file_bytes) throw beyond("max_file_bytes", limits);
  const texts = await read(bytes, { ...options, limits });
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > limits.max_text_length) throw beyond("max_text_length", limits);
  return texts;
}
