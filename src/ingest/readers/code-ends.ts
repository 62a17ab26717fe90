/** Where a declaration ends, in each kind of language. */
import type { Declaration, Language } from "./code-language.ts";
import type { CodeLines } from "./code-lines.ts";

/** The last line of what begins on line `at`. */
export function declarationEnd(
  lines: CodeLines,
  at: number,
  { blocks }: Language,
  kind: Declaration["kind"],
): number {
  if (blocks === "brackets" || blocks === "braces") return bracketEnd(lines, at);
  if (blocks === "statements") return statementEnd(lines, at, kind);
  return indentationEnd(lines, at, blocks === "end");
}

/** A line that ends so goes on in the next, and one that begins so goes on with the one before. */
const goesOn = /(?:[=,(+&|?:<-]|=>|->|\b(?:where|extends|implements|with|throws))\s*$/;
const continues =
  /^\s*(?:[{:?.=&|<>]|->|(?:where|for|extends|implements|with|throws|const|noexcept|override|final|requires)\b)/;

/** Types in braces may be alternatives. */
const continuesType = /^\s*(?:[|&]|\?(?!>)|:(?!:))/;

function bracketEnd(lines: CodeLines, at: number): number {
  let first = at;
  let hasBlock = false;
  while (true) {
    const last = lines.closed(first);
    // Brackets that are never closed: a macro, or an error.
    if (last === undefined) return indentationEnd(lines, at, false, /^\s*[)\]}]/);
    const line = lines.masked[last] ?? "";
    if (/;\s*$/.test(line)) return last;
    let next = last + 1;
    while (next < lines.count && !lines.isFilled(next)) next += 1;
    const start = (lines.masked[next] ?? "").slice(0, 40);
    hasBlock ||= lines.opening(first, last) !== undefined;
    const isMore = hasBlock
      ? continuesType.test(start)
      : goesOn.test(line) || continues.test(start);
    if (next >= lines.count || !isMore) return last;
    first = next;
  }
}

function indentationEnd(
  lines: CodeLines,
  at: number,
  hasEnd: boolean,
  closing = /^\s*(?:end\b|\})/,
): number {
  const outer = lines.outer(at);
  const isClosing = lines.indent(outer) === lines.indent(at) && outer < lines.count;
  if (hasEnd && isClosing && closing.test(lines.masked[outer] ?? "")) return outer;
  let last = outer - 1;
  // Comments above the next declaration are its own.
  const isLoose = (line: number): boolean =>
    lines.isBlank(line) || (lines.isComment(line) && lines.indent(line) <= lines.indent(at));
  while (last > at && isLoose(last)) last -= 1;
  return last;
}

/** In SQL a statement ends with a semicolon, and a routine that has a block with the `end` of it. */
function statementEnd(lines: CodeLines, at: number, kind: Declaration["kind"]): number {
  let next = at + 1;
  while (next < lines.count && !/^\s*(?:create|go)\b/i.test(lines.masked[next] ?? "")) next += 1;
  const find = (pattern: RegExp, from: number): number => {
    let line = from;
    while (line < next && !pattern.test(lines.masked[line] ?? "")) line += 1;
    return line;
  };
  const semicolon = find(/;\s*$/, at);
  const begin = kind === "routine" ? find(/^\s*begin\b|\bbegin\s*$/i, at) : next;
  // A block may come after declarations, which have semicolons of their own.
  const body = find(/^\s*(?:as|is|declare)\b|\b(?:as|is)\s*$/i, at);
  if (begin < next && (begin <= semicolon || body < semicolon)) {
    for (let line = begin + 1; line < next; line += 1) {
      const isEnd = /^\s*end\b/i.test(lines.masked[line] ?? "");
      if (isEnd && lines.indent(line) <= lines.indent(begin)) return line;
    }
  } else if (semicolon < next) return semicolon;
  let last = next - 1;
  while (last > at && !lines.isFilled(last)) last -= 1;
  return last;
}
