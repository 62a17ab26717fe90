/** PDF files: the text of all pages as one. Text in pictures is not read. */
import { getDocumentProxy } from "unpdf";
import { NodeError } from "../../../core/errors.ts";
import { beyond, type ReadLimits, unreadable } from "../limits.ts";
import type { ReadOptions, ReadText } from "../read.ts";
import { pdfLayout } from "./layout.ts";

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

/** A piece of text as pdf.js gives it. */
export interface PdfText {
  str: string;
  dir: string;
  /** Length along the baseline. */
  width: number;
  /** Matrix from the text's own coordinates to those of the page. */
  transform: number[];
}

/** A line, in coordinates along its own direction of reading, also where the page is turned. */
export interface PdfLine {
  page: number;
  text: string;
  /** Font size of most of its text. */
  size: number;
  /** Degrees by which the line is turned. */
  angle: number;
  left: number;
  right: number;
  down: number;
}

interface Piece extends Omit<PdfLine, "page"> {
  isLeftward: boolean;
}

export function linesOf(texts: readonly PdfText[], page: number): PdfLine[] {
  const lines: (PdfLine & { longest: number })[] = [];
  for (const { isLeftward, ...piece } of texts.map(pieceOf)) {
    const line = lines.at(-1);
    if (piece.text === "") continue;
    if (line === undefined || !continues(line, piece, isLeftward)) {
      lines.push({ ...piece, page, longest: piece.text.length });
      continue;
    }
    const isApart = piece.left - line.right > piece.size * wordGap;
    line.text += isApart ? ` ${piece.text}` : piece.text;
    line.left = Math.min(line.left, piece.left);
    line.right = Math.max(line.right, piece.right);
    if (piece.text.length > line.longest) {
      line.longest = piece.text.length;
      line.size = piece.size;
      line.down = piece.down;
    }
  }
  return lines
    .map(({ longest, ...line }) => ({ ...line, text: tidy(line.text) }))
    .filter(({ text }) => text !== "");
}

/** Dots between a title and its page number, in a table of contents, are shortened to three. */
const tidy = (text: string): string =>
  text
    .replace(/\s+/g, " ")
    .replace(/ ?(?:\. ?){5,}/g, " … ")
    .trim();

/** Distances in font sizes: pieces further apart than these are separate words, or on separate lines. */
const wordGap = 0.2;
const lineGap = 0.5;

/** Whether the piece continues the line: behind its end, and on its baseline or nearly so, as a footnote's raised number is. */
const continues = (line: PdfLine, piece: Omit<PdfLine, "page">, isLeftward: boolean): boolean =>
  line.angle === piece.angle &&
  Math.abs(line.down - piece.down) < Math.max(line.size, piece.size) * lineGap &&
  (isLeftward || piece.left > line.right - piece.size);

function pieceOf({ str, dir, width, transform }: PdfText): Piece {
  const [a = 1, b = 0, c = 0, d = 1, x = 0, y = 0] = transform;
  const length = Math.hypot(a, b) || 1;
  const left = (a * x + b * y) / length;
  return {
    // Control characters come from fonts that do not say what their glyphs mean.
    text: str.replace(/\p{Cc}/gu, ""),
    size: Math.round(Math.hypot(c, d) * 2) / 2,
    angle: Math.round((Math.atan2(b, a) * 180) / Math.PI),
    left,
    right: left + width,
    down: (b * x - a * y) / length,
    isLeftward: dir === "rtl",
  };
}
