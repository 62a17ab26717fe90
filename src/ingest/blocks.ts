/** A Markdown or plain text as the blocks it is made of, each under its headings. */

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
  const blocks: Block[] = [];
  let headings: string[] = [];
  let bare = false; // whether the last heading still has nothing under it
  let lines: string[] = [];
  let fence: string | undefined;
  let section = 0;
  const flush = (kind?: Block["kind"]): void => {
    const block = lines.join("\n").trim();
    const isTable = lines.length > 1 && lines.every(isTableRow);
    lines = [];
    if (block === "") return;
    blocks.push({
      headings: headings.filter((heading) => heading !== ""),
      section,
      text: block,
      kind: kind ?? (isTable ? "table" : "prose"),
    });
    bare = false;
  };
  const closeHeading = (): void => {
    flush();
    if (bare) {
      const path = headings.filter((name) => name !== "").join(" > ");
      blocks.push({ headings: [], section, text: path, kind: "prose" });
    }
    bare = false;
  };
  for (const line of text.replace(/\r\n?/g, "\n").split("\n")) {
    const marker = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (marker !== undefined && (fence === undefined || line.trim().startsWith(fence))) {
      if (fence === undefined) flush();
      lines.push(line);
      if (fence !== undefined) flush("code");
      fence = fence === undefined ? marker : undefined;
      continue;
    }
    if (fence !== undefined) {
      lines.push(line);
      continue;
    }
    const heading = headingOf(line, lines);
    if (heading !== undefined) {
      const { level, title } = heading;
      if (heading.underlined) lines = [];
      // A heading right above a deeper one is kept by it.
      if (level <= headings.length) closeHeading();
      else flush();
      headings = [...headings.slice(0, level - 1)];
      while (headings.length < level - 1) headings.push("");
      headings.push(title);
      section++;
      bare = true;
    } else if (line.trim() === "") {
      flush();
    } else {
      // A table may follow its paragraph without an empty line.
      const last = lines.at(-1);
      if (last !== undefined && isTableRow(line) !== isTableRow(last)) flush();
      lines.push(line);
    }
  }
  closeHeading();
  return blocks;
}

interface Heading {
  level: number;
  title: string;
  /** Whether the title is the line before. */
  underlined: boolean;
}

/** `# title`, or a line of one paragraph underlined with = or -. */
function headingOf(line: string, before: readonly string[]): Heading | undefined {
  const [, marks] = /^(#{1,6})\s/.exec(line) ?? [];
  if (marks !== undefined) {
    const title = withoutClosingMarks(line.slice(marks.length));
    return title.length > longestHeading
      ? undefined
      : { level: marks.length, title, underlined: false };
  }
  const [above] = before;
  if (above === undefined || before.length > 1) return undefined;
  const [, rule] = /^(=|-)\1{2,}\s*$/.exec(line) ?? [];
  if (rule === undefined || isTableRow(above) || above.length > longestHeading) return undefined;
  return { level: rule === "=" ? 1 : 2, title: above.trim(), underlined: true };
}

/** A longer line is text: every passage under a heading repeats it. */
const longestHeading = 1000;

/** `title ##` says its level twice. By hand: an expression for it tries every space as the last. */
function withoutClosingMarks(text: string): string {
  let end = text.length;
  while (text.charAt(end - 1) === "#") end -= 1;
  return text.slice(0, end).trim();
}

const isTableRow = (line: string): boolean => /^\s*\|.*\|\s*$/.test(line);
