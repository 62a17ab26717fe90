/** Converts files to text, with the reader of each format. */
import { detectFormat } from "./detect-format.ts";
import type { Format } from "./formats.ts";
import { beyond, defaultLimits, type ReadLimits } from "./limits.ts";

export interface ReadOptions {
  /** Column of a table, or field of a JSONL record, that holds the text; default: the first of some common names. */
  textField?: string;
  limits: ReadLimits;
}

/** Texts to split separately, as Markdown: one for a page of prose, one for each record of data. */
export type ReadText = readonly string[];

type Reader = (
  bytes: Uint8Array,
  options: ReadOptions,
  name: string,
) => ReadText | Promise<ReadText>;

// Readers are loaded when the first file of their format comes: Word alone takes a tenth of a second.
const readers: Readonly<Record<Format, Reader>> = {
  markdown: async (bytes) => (await import("./text/plain-text.ts")).readMarkdown(bytes),
  text: async (bytes) => (await import("./text/plain-text.ts")).readPlainText(bytes),
  html: async (bytes, options) => (await import("./html/html.ts")).readHtml(bytes, options),
  pdf: async (bytes, options) => (await import("./pdf.ts")).readPdf(bytes, options),
  docx: async (bytes, options) => (await import("./office/docx.ts")).readDocx(bytes, options),
  pptx: async (bytes, options) => (await import("./office/pptx.ts")).readPptx(bytes, options),
  xlsx: async (bytes, options) => (await import("./office/xlsx.ts")).readXlsx(bytes, options),
  epub: async (bytes, options) => (await import("./office/epub.ts")).readEpub(bytes, options),
  eml: async (bytes, options) => (await import("./eml.ts")).readEml(bytes, options),
  csv: async (bytes, options) => (await import("./text/records.ts")).readCsv(bytes, options),
  tsv: async (bytes, options) => (await import("./text/records.ts")).readTsv(bytes, options),
  jsonl: async (bytes, options) => (await import("./text/records.ts")).readJsonl(bytes, options),
  code: async (bytes, _options, name) => (await import("./code.ts")).readCode(bytes, name),
};

/** Converts a file's bytes to texts; the format is detected by the bytes and the extension of `name`. */
export async function readDocument(
  name: string,
  bytes: Uint8Array,
  { limits = defaultLimits, ...options }: Partial<ReadOptions> = {},
): Promise<ReadText> {
  const format = detectFormat(bytes, name);
  if (bytes.length > limits.max_file_bytes) throw beyond("max_file_bytes", limits);
  const texts = await readers[format](bytes, { ...options, limits }, name);
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > limits.max_text_length) throw beyond("max_text_length", limits);
  return texts;
}
