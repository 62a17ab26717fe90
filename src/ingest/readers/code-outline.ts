/** The declarations of a program, and those within them, by their lines. */
import { declarationEnd } from "./code-ends.ts";
import type { Declaration, Language } from "./code-language.ts";
import type { CodeLines } from "./code-lines.ts";

export interface Declared {
  /** What it is called, after what it belongs to. */
  names: readonly string[];
  /** Its first line, which may be a comment above it. */
  first: number;
  last: number;
  members: readonly Declared[];
}

/** Classes within classes; what is deeper is not taken apart. */
const deepest = 5;
/** Of a line so much is looked at: names that begin later are no declarations. */
const longestHead = 400;

export const outline = (lines: CodeLines, language: Language): Declared[] =>
  declarationsIn(lines, language, 0, lines.count - 1, 0);

function declarationsIn(
  lines: CodeLines,
  language: Language,
  from: number,
  to: number,
  depth: number,
): Declared[] {
  const found: Declared[] = [];
  let free = from; // the first line that belongs to nothing yet
  let attributes: number | undefined;
  let at = from;
  while (at <= to) {
    if (!lines.isFilled(at)) {
      at += 1;
      continue;
    }
    const line = lines.masked[at] ?? "";
    const match = declarationOf(line, language, depth > 0);
    if (match === undefined) {
      attributes = isAttribute(line) ? (attributes ?? at) : undefined;
      at = Math.max(at, nextStatement(lines, at, language)) + 1;
      continue;
    }
    const last = Math.min(to, declarationEnd(lines, at, language, match.kind));
    const first = withComments(lines, attributes ?? at, free);
    attributes = undefined;
    const isNamed = last > first && (match.kind !== "value" || last > at || isArrow.test(line));
    if (isNamed) {
      const isOpen = match.kind === "container" && depth < deepest;
      const inside = isOpen ? bodyOf(lines, at, last, language) : undefined;
      const members =
        inside === undefined
          ? []
          : declarationsIn(lines, language, inside.from, inside.to, depth + 1);
      found.push({ names: match.names, first, last, members });
      free = last + 1;
    }
    at = last + 1;
  }
  return found;
}

function declarationOf(
  line: string,
  { declarations }: Language,
  isInside: boolean,
): { names: string[]; kind: Declaration["kind"] } | undefined {
  const head = line
    .slice(0, longestHead)
    .replace(/\s+/g, " ")
    .replace(/^ ?(?:@[\w.:]+(?:\([^()]*\))? )+/, "");
  for (const { begins, kind } of declarations) {
    if (kind === "member" && !isInside) continue;
    const { name, of } = begins.exec(head)?.groups ?? {};
    if (name !== undefined) return { names: of === undefined ? [name] : [of, name], kind };
  }
  return undefined;
}

const isArrow = /=>|\bfunction\b/;

/** Decorators, annotations and attributes, which stand above what they are about. */
const isAttribute = (line: string): boolean => /^\s*(?:@\w|#!?\[|\[[\w[])/.test(line);

/** Where a statement ends that declares nothing: a block of it is not looked into, except by indentation. */
const nextStatement = (lines: CodeLines, at: number, { blocks }: Language): number =>
  blocks === "brackets" || blocks === "braces" ? (lines.closed(at) ?? at) : at;

/** The first of the comments and attributes that stand directly above. */
function withComments(lines: CodeLines, at: number, free: number): number {
  let first = at;
  while (
    first > free &&
    (lines.isComment(first - 1) || isAttribute(lines.masked[first - 1] ?? ""))
  ) {
    first -= 1;
  }
  return first;
}

/** The lines within a container. */
function bodyOf(
  lines: CodeLines,
  at: number,
  last: number,
  { blocks }: Language,
): { from: number; to: number } {
  if (blocks !== "brackets") return { from: at + 1, to: last };
  return { from: (lines.opening(at, last) ?? last) + 1, to: last - 1 };
}
