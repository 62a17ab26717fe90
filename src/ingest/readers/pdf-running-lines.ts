/** Removes headers, footers and page numbers, which would end up in the middle of sentences. */
import type { PdfLine } from "./pdf-lines.ts";

/** How many lines at the top and bottom of a page can be running lines. */
const edge = 2;
/** On how many pages a running line is at least; in a document of fewer pages, on all of them. */
const fewestPages = 3;

/** The lines without those of usual size that stand in one place on several pages, the same but for a page number. */
export function withoutRunningLines(
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
