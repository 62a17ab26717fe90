/** What is usual in a PDF: the size of its text, the distance of its lines, the width of its columns. */
import type { PdfLine } from "./pdf-lines.ts";

export interface PdfMeasures {
  /** Whether the line is set in a clearly larger font than the text. */
  isLarge: (line: PdfLine) => boolean;
  differInSize: (a: PdfLine, b: PdfLine) => boolean;
  /** Whether the second line is further below the first one than lines of a paragraph are. */
  isFarBelow: (first: PdfLine, second: PdfLine) => boolean;
  /** Whether the first line had room for the next one's first word, so that it was ended on purpose. */
  endsEarly: (first: PdfLine, second: PdfLine) => boolean;
}

/** In sizes of the text. */
const clearly = 1.15;
/** In usual distances. */
const far = 1.3;
/** On a page of more lines no columns are looked for, since each line is compared with all others. */
const mostLines = 2000;

export function measure(lines: readonly PdfLine[]): PdfMeasures {
  const textSize = usualSize(lines);
  const leading = usualLeading(lines);
  const pages = Map.groupBy(lines, ({ page }) => page);
  const angles = new Map([...pages].map(([page, onPage]) => [page, usualAngle(onPage)]));
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
    isLarge: ({ size, angle, page }) => size >= clearly * textSize && angle === angles.get(page),
    differInSize: (a, b) => Math.max(a.size, b.size) >= clearly * Math.min(a.size, b.size),
    isFarBelow: (first, second) => second.down - first.down > far * leading * first.size,
    endsEarly: (first, second) => {
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

const usualAngle = (lines: readonly PdfLine[]): number =>
  mostOf(tally(lines, ({ angle }) => angle));

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
