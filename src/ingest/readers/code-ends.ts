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
  /^\s*(?:[{:?.=&|<>]|->|(?:where|extends|implements|with|throws|const|noexcept|override|final|requires)\b)/;

function bracketEnd(lines: CodeLines, at: number): number {
  let first = at;
  while (true) {
    const last = lines.closed(first);
    // Brackets that are never closed: a macro, or an error.
    if (last === undefined) return indentationEnd(lines, at, false, /^\s*[)\]}]/);
    const line = lines.masked[last] ?? "";
    if (lines.hasBrace(at, last) || /;\s*$/.test(line)) return last;
    let next = last + 1;
    while (next < lines.count && !lines.isFilled(next)) next += 1;
    const isMore = goesOn.test(line) || continues.test((lines.masked[next] ?? "").slice(0, 40));
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
    lines.isBlank(line) || (lines.isText(line) && lines.indent(line) <= lines.indent(at));
  while (last > at && isLoose(last)) last -= 1;
  return last;
}

/** In SQL a statement ends with a semicolon, and a routine with the `end` of its block. */
function statementEnd(lines: CodeLines, at: number, kind: Declaration["kind"]): number {
  let begun: number | undefined;
  for (let line = at; line < lines.count; line += 1) {
    const text = lines.masked[line] ?? "";
    if (line > at && /^\s*(?:create|go)\b/i.test(text)) return line - 1;
    if (
      kind === "routine" &&
      begun === undefined &&
      /^\s*(?:begin|declare|as|is)\b|\b(?:begin|as|is)\s*$/i.test(text)
    ) {
      begun = line;
    }
    if (
      begun === undefined
        ? /;\s*$/.test(text)
        : isRoutineEnd(text, lines.indent(line), lines.indent(at))
    )
      return line;
  }
  return lines.count - 1;
}

const isRoutineEnd = (text: string, indent: number, outer: number): boolean =>
  indent <= outer && /^\s*end\b(?!\s+(?:if|loop|case|while)\b)|^\s*;\s*$|\$\s*;\s*$/i.test(text);
