/** Cuts a document into passages that an embedding model can take: along headings, paragraphs, lines, words. */

export interface ChunkOptions {
  /** Most tokens of a passage. */
  maxTokens: number;
  countTokens: (text: string) => number;
}

interface Block {
  /** Headings above the block, outermost first. */
  headings: readonly string[];
  text: string;
}

/** The passages of a Markdown or plain text, each with the headings above it, in order. */
export function chunk(text: string, options: ChunkOptions): string[] {
  const passages: string[] = [];
  let current: Block | undefined;
  const flush = (): void => {
    if (current !== undefined) passages.push(render(current));
    current = undefined;
  };
  for (const block of toBlocks(text).flatMap((whole) => fit(whole, options))) {
    const joined =
      current !== undefined && sameHeadings(current, block)
        ? { ...current, text: `${current.text}\n\n${block.text}` }
        : undefined;
    if (joined !== undefined && options.countTokens(render(joined)) <= options.maxTokens) {
      current = joined;
      continue;
    }
    flush();
    current = block;
  }
  flush();
  return passages;
}

const render = ({ headings, text }: Block): string =>
  headings.length === 0 ? text : `${headings.join(" > ")}\n\n${text}`;

const sameHeadings = (a: Block, b: Block): boolean =>
  a.headings.length === b.headings.length &&
  a.headings.every((heading, index) => heading === b.headings[index]);

/** Paragraphs and whole code fences, each under its headings; a heading alone is a block of its own. */
function toBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let headings: string[] = [];
  let bare = false; // whether the last heading still has nothing under it
  let lines: string[] = [];
  let fence: string | undefined;
  const flush = (): void => {
    const block = lines.join("\n").trim();
    lines = [];
    if (block === "") return;
    blocks.push({ headings: headings.filter((heading) => heading !== ""), text: block });
    bare = false;
  };
  const closeHeading = (): void => {
    flush();
    if (bare)
      blocks.push({ headings: [], text: headings.filter((name) => name !== "").join(" > ") });
    bare = false;
  };
  for (const line of text.replaceAll("\r\n", "\n").split("\n")) {
    const marker = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (marker !== undefined && (fence === undefined || line.trim().startsWith(fence))) {
      if (fence === undefined) flush();
      lines.push(line);
      if (fence !== undefined) flush();
      fence = fence === undefined ? marker : undefined;
      continue;
    }
    const heading = fence === undefined ? /^(#{1,6})\s+(.*?)\s*#*$/.exec(line) : null;
    if (heading?.[1] !== undefined && heading[2] !== undefined) {
      const level = heading[1].length;
      // A heading right above a deeper one is kept by it.
      if (level <= headings.length) closeHeading();
      else flush();
      headings = [...headings.slice(0, level - 1)];
      while (headings.length < level - 1) headings.push("");
      headings.push(heading[2]);
      bare = true;
    } else if (line.trim() === "" && fence === undefined) {
      flush();
    } else {
      lines.push(line);
    }
  }
  closeHeading();
  return blocks;
}

/** A block that is too long becomes several, cut at lines, else sentences, else words, else characters. */
function fit(block: Block, options: ChunkOptions): Block[] {
  const fits = (text: string): boolean =>
    options.countTokens(render({ ...block, text })) <= options.maxTokens;
  if (fits(block.text)) return [block];
  // Headings that leave no room for a word are text like any other.
  if (block.headings.length > 0 && !fits("word")) {
    return [block.headings.join(" > "), block.text].flatMap((text) =>
      fit({ headings: [], text }, options),
    );
  }
  return cut(block.text, [/(?<=\n)/, /(?<=[.!?…]\s)/, /(?<=\s)/, /(?:)/u], fits).map((text) => ({
    ...block,
    text: text.trim(),
  }));
}

/** Splits at the first separator, cuts further only the pieces that are still too long, and packs. */
function cut(
  text: string,
  [separator, ...finer]: readonly RegExp[],
  fits: (text: string) => boolean,
): string[] {
  if (separator === undefined || fits(text)) return [text];
  const pieces = text.split(separator).flatMap((piece) => cut(piece, finer, fits));
  return pack(pieces, fits).filter((piece) => piece.trim() !== "");
}

/** Joins neighbours for as long as they fit. */
function pack(pieces: readonly string[], fits: (text: string) => boolean): string[] {
  const packed: string[] = [];
  for (const piece of pieces) {
    const joined = `${packed.at(-1) ?? ""}${piece}`;
    if (packed.length > 0 && fits(joined)) packed[packed.length - 1] = joined;
    else packed.push(piece);
  }
  return packed;
}
