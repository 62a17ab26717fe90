/** Reads PDF files: the text of all pages as one. Text in pictures is not read. */
import { getDocumentProxy } from "unpdf";
import { asUnreadable, beyond, type ReadLimits, unreadable } from "./limits.ts";
import type { ReadOptions, ReadText } from "./read.ts";
import { escapeMarkers, heading } from "./text/markdown.ts";

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
    const isEncrypted = cause instanceof Error && cause.name === "PasswordException";
    throw asUnreadable(
      cause,
      isEncrypted
        ? "is encrypted; save a copy without a password"
        : "is damaged or not a PDF; try to open it and save it again",
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

interface Block {
  isHeading: boolean;
  text: string;
  last: PdfLine;
}

const longestHeading = 200;

/** Lines as Markdown: which of them are headings, and which go on in the next one. */
export function pdfLayout(all: readonly PdfLine[]): string {
  const { isLarge } = measure(all);
  const lines = withoutRunningLines(all, isLarge);
  const measures = measure(lines);
  const blocks: Block[] = [];
  for (const line of lines) {
    const block = blocks.at(-1);
    const isHeading = measures.isLarge(line);
    const text = line.text.replace(bullet, "- ");
    const separator = block === undefined ? "\n\n" : separatorOf(block, line, measures);
    if (block === undefined || separator === "\n\n") {
      blocks.push({ isHeading, text, last: line });
    } else {
      block.text = separator === "\n" ? `${block.text}\n${text}` : joined(block.text, text);
      block.last = line;
    }
  }
  return blocks.map(markdownOf).join("\n\n");
}

/** Large text that is no heading: an initial letter of a chapter, a paragraph in a large font, a line of a table of contents. */
const markdownOf = ({ isHeading, text }: Block): string =>
  isHeading && text.length <= longestHeading && /\p{L}{2}/u.test(text) && !leader.test(text)
    ? heading(2, text)
    : escapeMarkers(text);

/** What separates the block from the line: the end of a paragraph, the end of a line, or nothing. */
function separatorOf(block: Block, line: PdfLine, measures: PdfMeasures): "\n\n" | "\n" | "" {
  const { last } = block;
  const step = line.down - last.down;
  if (last.angle !== line.angle || measures.differInSize(last, line)) return "\n\n";
  if (block.isHeading !== measures.isLarge(line)) return "\n\n";
  if (block.isHeading) {
    return last.page === line.page && step > 0 && step < 2 * line.size ? "" : "\n\n";
  }
  const isSentence = /[.!?:…。！？]["'”’»)\]]*$/u.test(last.text);
  const isEarly = measures.endsEarly(last, line);
  const isBegun = /^["'“‘«([]?[\p{Lu}\p{N}]/u.test(line.text);
  // The text goes on at the top of another column or page.
  if (last.page !== line.page || step <= 0) {
    return isSentence || bullet.test(line.text) || (isEarly && isBegun) ? "\n\n" : "";
  }
  if (measures.isFarBelow(last, line)) return "\n\n";
  if (bullet.test(line.text) || leader.test(last.text)) return "\n";
  const indent = (line.left - last.left) / line.size;
  if (isSentence && indent > 0.8 && indent < 6 && !bullet.test(last.text)) return "\n\n";
  return isEarly && (isSentence || isBegun) ? "\n" : "";
}

const bullet = /^[•▪◦‣●○■□·]\s+/;
/** The dots before the page number in a table of contents. */
const leader = / … \w+$/;

/** The text with the next line appended; a word that was hyphenated at the line's end is put together. */
function joined(text: string, next: string): string {
  // Only the last characters are looked at: a paragraph may be as long as the document.
  const end = text.slice(-4);
  if (/\p{L}[-‐\u00ad]$/u.test(end)) {
    return /^\p{Ll}/u.test(next) ? `${text.slice(0, -1)}${next}` : `${text}${next}`;
  }
  const isSpaceless = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}。、]$/u.test(end);
  return isSpaceless ? `${text}${next}` : `${text} ${next}`;
}

type PdfMeasures = ReturnType<typeof measure>;

/** In sizes of the text. */
const clearly = 1.15;
/** In usual distances. */
const far = 1.3;
/** On a page of more lines no columns are looked for, since each line is compared with all others. */
const mostLines = 2000;

/** What is usual in a PDF: the size of its text, the distance of its lines, the width of its columns. */
function measure(lines: readonly PdfLine[]) {
  const textSize = usualSize(lines);
  const leading = usualLeading(lines);
  const pages = Map.groupBy(lines, ({ page }) => page);
  const angles = new Map(
    [...pages].map(([page, onPage]) => [page, mostOf(tally(onPage, ({ angle }) => angle))]),
  );
  const linesBeside = ({ page }: PdfLine): readonly PdfLine[] => {
    const onPage = pages.get(page) ?? [];
    return onPage.length > mostLines ? [] : onPage;
  };
  const columnEnd = (line: PdfLine): number => {
    const { angle, left, size } = line;
    return linesBeside(line)
      .filter((other) => other.angle === angle && Math.abs(other.left - left) < 3 * size)
      .reduce((end, { right }) => Math.max(end, right), 0);
  };
  return {
    isLarge: ({ size, angle, page }: PdfLine): boolean =>
      size >= clearly * textSize && angle === angles.get(page),
    differInSize: (a: PdfLine, b: PdfLine): boolean =>
      Math.max(a.size, b.size) >= clearly * Math.min(a.size, b.size),
    isFarBelow: (first: PdfLine, second: PdfLine): boolean =>
      second.down - first.down > far * leading * first.size,
    /** Whether the first line had room for the next one's first word, so that it was ended on purpose. */
    endsEarly: (first: PdfLine, second: PdfLine): boolean => {
      const [word = ""] = second.text.split(" ", 1);
      const width = ((second.right - second.left) / second.text.length) * (word.length + 1);
      return first.right + width < columnEnd(first);
    },
  };
}

/** The largest size in which a good part is set; notes and references can be most of a paper. */
function usualSize(lines: readonly PdfLine[]): number {
  const lengths = tally(lines, ({ size }) => size);
  const good = [...lengths.values()].reduce((sum, length) => sum + length, 0) / 3;
  const sizes = [...lengths].filter(([, length]) => length >= good).map(([size]) => size);
  return Math.max(0, ...sizes) || mostOf(lengths);
}

/** Distance of lines by font size; the lower quarter, as paragraphs may have a line or two only. */
function usualLeading(lines: readonly PdfLine[]): number {
  const distances = lines
    .flatMap((line, index) => {
      const last = lines[index - 1];
      return last?.page === line.page && last.size === line.size
        ? [(line.down - last.down) / line.size]
        : [];
    })
    .filter((distance) => distance > 0.5 && distance < 3)
    .sort((a, b) => a - b);
  return distances[Math.floor(distances.length / 4)] ?? 1.2;
}

/** How many characters there are of each kind of line. */
function tally(
  lines: readonly PdfLine[],
  kindOf: (line: PdfLine) => number,
): ReadonlyMap<number, number> {
  const lengths = new Map<number, number>();
  for (const line of lines) {
    lengths.set(kindOf(line), (lengths.get(kindOf(line)) ?? 0) + line.text.length);
  }
  return lengths;
}

const mostOf = (lengths: ReadonlyMap<number, number>): number =>
  [...lengths].reduce((most, next) => (next[1] > most[1] ? next : most), [0, 0])[0];

/** How many lines at the top and bottom of a page can be running lines. */
const edge = 2;
/** On how many pages a running line is at least; in a document of fewer pages, on all of them. */
const fewestPages = 3;

/** The lines without those of usual size that stand in one place on several pages, the same but for a page number. */
function withoutRunningLines(
  lines: readonly PdfLine[],
  isLarge: (line: PdfLine) => boolean,
): readonly PdfLine[] {
  const pages = [...Map.groupBy(lines, ({ page }) => page).values()];
  if (pages.length < 2) return lines;
  const candidates = pages.map((page) => edgesOf(page).filter((line) => !isLarge(line)));
  const counts = new Map<string, number>();
  for (const page of candidates) {
    for (const form of new Set(page.flatMap(formsOf)))
      counts.set(form, (counts.get(form) ?? 0) + 1);
  }
  const isRunning = (line: PdfLine): boolean =>
    formsOf(line).some((form) => (counts.get(form) ?? 0) >= Math.min(fewestPages, pages.length));
  const running = new Set(candidates.flat().filter(isRunning));
  return lines.filter((line) => !running.has(line));
}

function edgesOf(page: readonly PdfLine[]): PdfLine[] {
  const sorted = page.toSorted((a, b) => a.down - b.down);
  return sorted.length <= 2 * edge ? sorted : [...sorted.slice(0, edge), ...sorted.slice(-edge)];
}

/** How many numbers of a line are tried as its page number; each try makes a copy of the line. */
const mostNumbers = 16;

/** The text, and variants in which one number is replaced by its distance from the page's index: for a page number that is the same on all pages. */
function formsOf({ text, page, down }: PdfLine): string[] {
  const numbers = text.matchAll(/\d{1,6}/g).take(mostNumbers);
  const relative = numbers.toArray().map(({ 0: number, index }) => {
    const after = text.slice(index + number.length);
    return `${text.slice(0, index)}{${Number(number) - page}}${after}`;
  });
  return [text, ...relative].map((form) => `${form} at ${Math.round(down)}`);
}
