/** A Markdown or plain text as the blocks it is made of, each under its headings. */
import type { Token, Tokens } from "marked";
import { isFence, isHeading, isList, isTable, lexBlocks } from "./block-lexer.ts";

export interface Block {
  /** Headings above the block, outermost first. */
  headings: readonly string[];
  text: string;
  /** Which section it is in, counted from 0: two of the same headings are two. */
  section: number;
  /** `prose` is cut between sentences; a table or code fence between lines, its first repeated where it is a head. */
  kind: "prose" | "code" | "table";
}

/** Paragraphs, whole tables and whole code fences in order; a heading with nothing under it is a block of its own. */
export function toBlocks(text: string): Block[] {
  const source = text.replace(/\r\n?/g, "\n");
  const lines = source.split("\n");
  const blocks: Block[] = [];
  let headings: string[] = [];
  let isBare = false; // whether the last heading still has nothing under it
  let section = 0;
  const path = (): string[] => headings.filter((heading) => heading !== "");
  const add = (from: number, to: number, kind: Block["kind"]): void => {
    const block = lines.slice(from, to).join("\n").trim();
    if (block === "") return;
    blocks.push({ headings: path(), section, text: block, kind });
    isBare = false;
  };
  const addParagraphs = (from: number, to: number): void => {
    let start = from;
    for (let line = from; line < to; line += 1) {
      if (lines[line]?.trim() !== "") continue;
      add(start, line, "prose");
      start = line + 1;
    }
    add(start, to, "prose");
  };
  const keepBareHeading = (): void => {
    const title = path().join(" > ");
    if (isBare && title !== "") blocks.push({ headings: [], section, text: title, kind: "prose" });
  };
  let read = 0;
  for (const landmark of landmarks(lexBlocks(source))) {
    addParagraphs(read, landmark.first);
    read = landmark.last + 1;
    if (landmark.kind !== "heading") {
      add(landmark.first, read, landmark.kind);
      continue;
    }
    const { level, title } = landmark;
    // A heading right above a deeper one is kept by it.
    if (level <= headings.length) keepBareHeading();
    headings = headings.slice(0, level - 1);
    while (headings.length < level - 1) headings.push("");
    headings.push(title);
    section += 1;
    isBare = true;
  }
  addParagraphs(read, lines.length);
  keepBareHeading();
  return blocks;
}

/** A heading, fence or table, with its first and last line. */
type Landmark = { first: number; last: number } & (
  | { kind: "code" | "table" }
  | { kind: "heading"; level: number; title: string }
);

/** In the order of the text. Lines are counted, since marked takes the indentation off what is in a list. */
function* landmarks(tokens: readonly Token[], start = 0): Generator<Landmark> {
  let first = start;
  for (const token of tokens) {
    const last = first + countLineEnds(token.raw.trimEnd());
    if (isHeading(token)) {
      yield { kind: "heading", level: token.depth, title: token.text, first, last };
    } else if (isFence(token)) {
      yield { kind: "code", first, last };
    } else if (isTable(token)) {
      yield { kind: "table", first, last };
    } else if (isList(token)) {
      yield* landmarksInList(token, first);
    }
    first += countLineEnds(token.raw);
  }
}

/** Headings in a list are text: a section does not begin in one. */
function* landmarksInList({ items }: Tokens.List, start: number): Generator<Landmark> {
  let first = start;
  for (const { raw, tokens } of items) {
    for (const landmark of landmarks(tokens, first)) {
      if (landmark.kind !== "heading") yield landmark;
    }
    first += countLineEnds(raw);
  }
}

function countLineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
