/** A Markdown or plain text as the blocks it is made of, each under its headings. */

export interface Block {
  /** Headings above the block, outermost first. */
  headings: readonly string[];
  text: string;
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
  const flush = (kind?: Block["kind"]): void => {
    const block = lines.join("\n").trim();
    const isTable = lines.length > 1 && lines.every(isTableRow);
    lines = [];
    if (block === "") return;
    blocks.push({
      headings: headings.filter((heading) => heading !== ""),
      text: block,
      kind: kind ?? (isTable ? "table" : "prose"),
    });
    bare = false;
  };
  const closeHeading = (): void => {
    flush();
    if (bare) {
      const path = headings.filter((name) => name !== "").join(" > ");
      blocks.push({ headings: [], text: path, kind: "prose" });
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
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    if (heading?.[1] !== undefined && heading[2] !== undefined) {
      const level = heading[1].length;
      // A heading right above a deeper one is kept by it.
      if (level <= headings.length) closeHeading();
      else flush();
      headings = [...headings.slice(0, level - 1)];
      while (headings.length < level - 1) headings.push("");
      headings.push(heading[2]);
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

const isTableRow = (line: string): boolean => /^\s*\|.*\|\s*$/.test(line);
