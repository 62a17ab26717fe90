/** Lines of a PDF to Markdown: which of them are headings, and which go on in the next one. */
import { escapeMarkers, heading } from "./markdown.ts";
import type { PdfLine } from "./pdf-lines.ts";
import { measure, type PdfMeasures } from "./pdf-measures.ts";
import { withoutRunningLines } from "./pdf-running-lines.ts";

interface Block {
  isHeading: boolean;
  text: string;
  last: PdfLine;
}

const longestHeading = 200;

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
