/** Lines of a PDF page, put together from the pieces of text that lie on one baseline. */

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
