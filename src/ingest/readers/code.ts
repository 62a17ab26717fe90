/** Source code: functions, classes and other declarations, each under the path of its names. */
import { languageOf } from "./code-languages.ts";
import { CodeLines } from "./code-lines.ts";
import { mask } from "./code-mask.ts";
import { type Declared, outline } from "./code-outline.ts";
import { extensionOf } from "./extension.ts";
import { fence, heading } from "./markdown.ts";
import type { ReadText } from "./read.ts";
import { decodeText } from "./text-encoding.ts";

/** A program of more lines was written by a program, and is not taken apart. */
const mostLines = 1_000_000;
/** A class that is not longer is one passage, with all that is in it. */
const shortLength = 600;
const deepestHeading = 6;

export function readCode(bytes: Uint8Array, name: string): ReadText {
  const code = decodeText(bytes).replace(/\r\n?/g, "\n");
  if (code.trim() === "") return [];
  const language = languageOf(extensionOf(name));
  if (language === undefined || isTooLong(code)) return [fence(code.trimEnd(), language?.name)];
  const brackets = language.blocks === "braces" ? /[{}]/g : /[()[\]{}]/g;
  const lines = new CodeLines(code, mask(code, language.texts), brackets);
  const write = (first: number, last: number): string => cut(lines, first, last, language.name);
  const texts: string[] = [];
  let written = 0;
  for (const declared of outline(lines, language)) {
    texts.push(write(written, declared.first - 1), section(declared, [], lines, write));
    written = declared.last + 1;
  }
  texts.push(write(written, lines.count - 1));
  return texts.filter((text) => text !== "");
}

type Write = (first: number, last: number) => string;

/** A declaration under its headings; of a long class each member is a section of its own. */
function section(
  { names, first, last, members }: Declared,
  above: readonly string[],
  lines: CodeLines,
  write: Write,
): string {
  const path = [...above, ...names];
  const headings = path
    .map((name, index) => heading(Math.min(index + 1, deepestHeading), name))
    // Those above are written already.
    .slice(above.length);
  const isShort = lengthOf(lines, first, last) <= shortLength;
  if (members.length === 0 || isShort) return [...headings, write(first, last)].join("\n\n");
  const own: string[] = [];
  let read = first;
  for (const member of members) {
    own.push(write(read, member.first - 1));
    read = member.last + 1;
  }
  own.push(write(read, last));
  const sections = members.map((member) => section(member, path, lines, write));
  return [...headings, ...own, ...sections].filter((block) => block !== "").join("\n\n");
}

/** Lines in a fence; nothing where they hold no word. */
function cut(lines: CodeLines, first: number, last: number, language: string): string {
  const text = lines.raw.slice(first, last + 1).join("\n");
  return /[\p{L}\p{N}]/u.test(text)
    ? fence(text.replace(/^(?:[ \t]*\n)+/, "").trimEnd(), language)
    : "";
}

function lengthOf(lines: CodeLines, first: number, last: number): number {
  let length = 0;
  for (let at = first; at <= last && length <= shortLength; at += 1) {
    length += (lines.raw[at]?.length ?? 0) + 1;
  }
  return length;
}

function isTooLong(code: string): boolean {
  let count = 0;
  for (let at = code.indexOf("\n"); at !== -1; at = code.indexOf("\n", at + 1)) {
    count += 1;
    if (count >= mostLines) return true;
  }
  return false;
}
