/** Source code of any language as blocks, found by blank lines and indentation, each under the line that begins it. */
import { languageOf } from "./formats.ts";
import type { ReadText } from "./read.ts";
import { fence, heading } from "./text/markdown.ts";
import { decodeText } from "./text/plain-text.ts";

/** A program of more lines was written by a program, and is not divided. */
const mostLines = 1_000_000;
/** A block of fewer characters is one passage, with everything in it. */
const shortBlock = 900;
/** One within a block that is smaller has no heading of its own, and is joined with its neighbours. */
const smallBlock = 250;
/** Blocks within blocks; deeper ones are not divided. */
const deepest = 4;
const longestHeading = 100;
const tab = 4;

interface Line {
  text: string;
  indent: number;
  isBlank: boolean;
  /** Whether it only opens or closes a block, and goes on with what is above it. */
  isBracket: boolean;
}

export function readCode(bytes: Uint8Array, name: string): ReadText {
  const language = languageOf(name) ?? "";
  const code = decodeText(bytes).replace(/\r\n?/g, "\n");
  const lines = code.split("\n");
  if (lines.length > mostLines) return [fence(code.trimEnd(), language)];
  const texts = blocksOf(lines.map(toLine)).map((block) => section(block, 1, language));
  return texts.filter((text) => text !== "");
}

/** A block begins at the first line's indentation: after a blank line, a bracket, or a line further in. */
function blocksOf(lines: readonly Line[]): Line[][] {
  const { indent: level } = lines.find(({ isBlank, isBracket }) => !isBlank && !isBracket) ?? blank;
  const blocks: Line[][] = [];
  let block: Line[] = [];
  let before = blank;
  for (const line of lines) {
    const isAtLevel = !line.isBlank && !line.isBracket && line.indent <= level;
    if (isAtLevel && (before.isBlank || before.isBracket || before.indent > level)) {
      blocks.push(block);
      block = [];
    }
    block.push(line);
    before = line;
  }
  return [...blocks, block];
}

/** A block under the line that its body belongs to; a long one as the blocks within it. */
function section(block: readonly Line[], depth: number, language: string): string {
  const length = lengthOf(block);
  const at = headOf(block);
  const head = block[at];
  if (head === undefined || (depth > 1 && length < smallBlock)) return fenced(block, language);
  const title = heading(depth, titleOf(head.text));
  if (depth >= deepest || length <= shortBlock) {
    return `${title}\n\n${fenced(block, language)}`;
  }
  const inner = blocksOf(block.slice(at + 1)).map((each) => section(each, depth + 1, language));
  const parts = [title, fenced(block.slice(0, at + 1), language), ...inner];
  return parts.filter((part) => part !== "").join("\n\n");
}

/** The first line of code above a line that is further in; -1 where there is none. */
function headOf(block: readonly Line[]): number {
  let head = -1;
  for (const [at, { text, indent, isBlank, isBracket }] of block.entries()) {
    if (isBlank || isBracket) continue;
    if (head !== -1 && indent > (block[head]?.indent ?? 0)) return head;
    if (!isComment.test(text)) head = at;
  }
  return -1;
}

/** Comments and what stands above a declaration: decorators, annotations, attributes. */
const isComment = /^\s*(?:\/\/|\/?\*|#!|#\s|#\[|\[[\w:]+[\](]|--|"""|'''|@|<\?)/;

const titleOf = (line: string): string =>
  line
    .trim()
    .slice(0, longestHeading)
    .replace(/\s*(?:[{(:=]|=>|\bdo)\s*$/, "");

/** Lines in a fence; nothing where they hold no word. */
function fenced(lines: readonly Line[], language: string): string {
  const text = lines.map((line) => line.text).join("\n");
  if (!/[\p{L}\p{N}]/u.test(text)) return "";
  return fence(text.replace(/^(?:[ \t]*\n)+/, "").trimEnd(), language);
}

const lengthOf = (lines: readonly Line[]): number =>
  lines.reduce((sum, { text }) => sum + text.length + 1, 0);

function toLine(text: string): Line {
  const space = /^[ \t]*/.exec(text)?.[0] ?? "";
  return {
    text,
    indent: space.replaceAll("\t", " ".repeat(tab)).length,
    isBlank: text.trim() === "",
    isBracket: /^\s*(?:[)\]}]|\{\s*$|(?:begin|end)\b)/i.test(text),
  };
}

const blank: Line = { text: "", indent: 0, isBlank: true, isBracket: false };
