/**
 * Splits Markdown or plain text into blocks, each with its headings, using marked's block lexer
 * without inline tokens. Documents may be hostile: quadratic or recursive parts of marked are
 * overridden, so that the time is linear.
 */
import { Lexer, type Token, Tokenizer, type Tokens, type TokensList } from "marked";

export interface Block {
  /** Headings above the block, outermost first. */
  headings: readonly string[];
  text: string;
  /** Index of its section, from 0: two sections with the same headings are different. */
  section: number;
  /** `prose` is cut between sentences; a table or code fence between lines, its first repeated where it is a head. */
  kind: "prose" | "code" | "table";
}

/** Paragraphs, whole tables and whole code fences, in order; a heading with nothing under it is a block of its own. */
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
    // A heading right above a deeper one is part of its path.
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

/** Headings in a list are text: they begin no section. */
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

/** The tokens of a text whose lines end in `\n`; only headings, fences, tables and lists are told apart. */
export const lexBlocks = (text: string): Token[] => new BlockLexer().blockTokens(text, []);

export const isHeading = (token: Token): token is Tokens.Heading => token.type === "heading";
const isList = (token: Token): token is Tokens.List => token.type === "list";
const isTable = (token: Token): boolean => token.type === "table";
/** Not indented code: in many plain texts all paragraphs are indented. */
const isFence = (token: Token): boolean =>
  token.type === "code" && token.codeBlockStyle !== "indented";

const holdsBlock = (token: Token): boolean =>
  isFence(token) ||
  isTable(token) ||
  (isList(token) && token.items.some(({ tokens }) => tokens.length > 0));

/** A longer line is text: every passage under a heading repeats it. */
const longestHeading = 1000;

/** Most nested lists; deeper ones are text. */
const deepest = 8;

/** A longer line begins no list: marked would try it as a thematic break, `- - -`, several times at each depth. */
const longestItemLine = 16_384;

/**
 * Characters that are matched at a time as a paragraph or indented code; the rest is the next token.
 * On 100,000 lines the regular expressions fail, and where a table follows the match was in vain.
 */
const longestMatch = 256;

class BlockLexer extends Lexer {
  #depth = 0;

  constructor() {
    super({ gfm: true, tokenizer: new BlockTokenizer() });
  }

  override blockTokens(src: string, tokens?: Token[]): Token[];
  override blockTokens(src: string, tokens?: TokensList): TokensList;
  override blockTokens(src: string, tokens: Token[] = []): Token[] {
    if (this.#depth > deepest) return tokens;
    this.#depth += 1;
    // Within a list marked would take a paragraph line by line, which is quadratic.
    this.state.top = true;
    super.blockTokens(src, tokens);
    this.#depth -= 1;
    // Most items hold text alone, and a long list would keep the tokens of all of them.
    return this.#depth > 0 && !tokens.some(holdsBlock) ? [] : tokens;
  }

  /** Queues nothing: the lexer looks at two entries at most, but searches all of them for each task of a list. */
  override inline(_src: string, tokens: Token[] = []): Token[] {
    while (this.inlineQueue.length < 2) this.inlineQueue.push({ src: "", tokens: [] });
    return tokens;
  }
}

/** marked's rules, each limited in how far it reads. */
class BlockTokenizer extends Tokenizer {
  override heading(src: string): Tokens.Heading | undefined {
    const token = super.heading(src);
    return token !== undefined && token.text.length <= longestHeading ? token : undefined;
  }

  /** Of one line: several above a row of dashes are a paragraph above a rule more often. */
  override lheading(src: string): Tokens.Heading | undefined {
    const title = lineAt(src, 0);
    const underline = lineAt(src, title.length + 1);
    // First, since marked's own rule tries to end the title at each of its letters.
    if (!/^ {0,3}(?:=+|-+)[ \t]*$/.test(underline) || title.length > longestHeading)
      return undefined;
    if (this.#continuesParagraph()) return undefined;
    return super.lheading(`${title}\n${underline}`);
  }

  override list(src: string): Tokens.List | undefined {
    return lineAt(src, 0).length > longestItemLine ? undefined : super.list(src);
  }

  /** A table's lines; marked itself would make an object of every cell, and add those that short rows lack. */
  override table(src: string): Tokens.Table | undefined {
    const head = this.#tableHead(src);
    if (head === undefined) return undefined;
    let end = head.raw.length;
    while (end < src.length) {
      const next = lineAt(src, end + 1);
      if (!this.#isRow(next)) break;
      end += 1 + next.length;
    }
    return { ...head, raw: src.slice(0, end) };
  }

  override code(src: string): Tokens.Code | undefined {
    return this.#continuesParagraph() ? undefined : super.code(firstLines(src));
  }

  /** Up to a table, which may follow without an empty line. */
  override paragraph(src: string): Tokens.Paragraph | undefined {
    const token = this.#plainParagraph(src);
    if (token === undefined) return undefined;
    for (let end = token.raw.indexOf("\n"); end !== -1; end = token.raw.indexOf("\n", end + 1)) {
      if (this.#tableHead(src, end + 1) === undefined) continue;
      const raw = src.slice(0, end);
      return { ...token, raw, text: raw };
    }
    return token;
  }

  // They are split like any other text, so they need not be distinguished from paragraphs.
  override blockquote(): undefined {}
  override html(): undefined {}
  override def(): undefined {}

  /** Whether what comes now stands under a paragraph without an empty line between them. */
  #continuesParagraph(): boolean {
    return this.lexer.state.lastToken?.type === "paragraph";
  }

  #plainParagraph(src: string): Tokens.Paragraph | undefined {
    // CommonMark's rule: GFM's reads all rows of a table to know that one begins there.
    const raw = Lexer.rules.block.normal.paragraph.exec(firstLines(src))?.[0];
    if (raw === undefined) return undefined;
    return { type: "paragraph", raw, text: raw, tokens: this.lexer.inline(raw) };
  }

  /** The two lines that begin a table, as a table without rows. */
  #tableHead(src: string, at = 0): Tokens.Table | undefined {
    const names = lineAt(src, at);
    const rule = lineAt(src, at + names.length + 1);
    if (!/^[ |:-]+$/.test(rule) || !this.#isRow(names)) return undefined;
    return super.table(`${names}\n${rule}`);
  }

  #isRow(line: string): boolean {
    const { blockquote, code, fences, heading, hr, list } = this.rules.block;
    const others = [blockquote, code, fences, heading, hr, list];
    return line.includes("|") && !others.some((rule) => rule.test(line));
  }
}

/** As many whole lines as are matched at a time; at least one. */
function firstLines(text: string): string {
  if (text.length <= longestMatch) return text;
  const end = text.lastIndexOf("\n", longestMatch);
  return end > 0 ? text.slice(0, end + 1) : lineAt(text, 0);
}

function lineAt(text: string, start: number): string {
  const end = text.indexOf("\n", start);
  return text.slice(start, end === -1 ? undefined : end);
}
