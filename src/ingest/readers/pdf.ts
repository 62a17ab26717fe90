/** PDF files: the text of all pages as one. Text in pictures is not read. */
import { getDocumentProxy } from "unpdf";
import { NodeError } from "../../core/errors.ts";
import { beyond, type ReadLimits } from "./limits.ts";
import { pdfLayout } from "./pdf-layout.ts";
import { linesOf, type PdfLine } from "./pdf-lines.ts";
import type { ReadOptions, ReadText } from "./read.ts";
import { unreadable } from "./unreadable.ts";

export async function readPdf(bytes: Uint8Array, { limits }: ReadOptions): Promise<ReadText> {
  const markdown = pdfLayout(await readLines(bytes, limits));
  if (markdown === "") {
    throw unreadable("has no text in it, perhaps it is a scan; run it through OCR first");
  }
  return [markdown];
}

/** pdf.js's level of messages; by default it writes warnings to the console. */
const errorsOnly = 0;

async function readLines(bytes: Uint8Array, limits: ReadLimits): Promise<PdfLine[]> {
  try {
    // A copy, because pdf.js transfers the buffer and leaves the caller's empty.
    const pdf = await getDocumentProxy(new Uint8Array(bytes), { verbosity: errorsOnly });
    try {
      if (pdf.numPages > limits.max_pages) throw beyond("max_pages", limits);
      const pages: PdfLine[][] = [];
      let length = 0;
      for (let number = 1; number <= pdf.numPages; number += 1) {
        const page = await pdf.getPage(number);
        const { items } = await page.getTextContent();
        const texts = items.filter((item) => "str" in item);
        // Checked for each page: pages may share their content, so a small file can hold very much text.
        length += texts.reduce((sum, { str }) => sum + str.length, 0);
        if (length > limits.max_text_length) throw beyond("max_text_length", limits);
        pages.push(linesOf(texts, number));
        page.cleanup();
      }
      return pages.flat();
    } finally {
      await pdf.loadingTask.destroy();
    }
  } catch (cause) {
    if (cause instanceof NodeError) throw cause;
    const isEncrypted = cause instanceof Error && cause.name === "PasswordException";
    throw unreadable(
      isEncrypted
        ? "is encrypted; save a copy without a password"
        : "is damaged or not a PDF; try to open it and save it again",
      cause,
    );
  }
}
