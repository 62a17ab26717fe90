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

/** Paragraphs and whole code fences, each under its headings. */
function toBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let headings: string[] = [];
  let lines: string[] = [];
  let fence: string | undefined;
  const flush = (): void => {
    const block = lines.join("\n").trim();
    if (block !== "") blocks.push({ headings: headings.filter((heading) => heading), text: block });
    lines = [];
  };
  for (const line of text.replaceAll("\r\n", "\n").split("\n")) {
    const marker = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (marker !== undefined && (fence === undefined || line.trim().startsWith(fence))) {
      fence = fence === undefined ? marker : undefined;
      lines.push(line);
      continue;
    }
    const heading = fence === undefined ? /^(#{1,6})\s+(.*?)\s*#*$/.exec(line) : null;
    if (heading?.[1] !== undefined && heading[2] !== undefined) {
      flush();
      const level = heading[1].length;
      headings = [...headings.slice(0, level - 1)];
      while (headings.length < level - 1) headings.push("");
      headings.push(heading[2]);
    } else if (line.trim() === "" && fence === undefined) {
      flush();
    } else {
      lines.push(line);
    }
  }
  flush();
  return blocks;
}

/** A block that is too long becomes several, cut at the coarsest of lines, sentences and words that fits. */
function fit(block: Block, options: ChunkOptions): Block[] {
  const fits = (text: string): boolean =>
    options.countTokens(render({ ...block, text })) <= options.maxTokens;
  if (fits(block.text)) return [block];
  for (const separator of [/(?<=\n)/, /(?<=[.!?…]\s)/, /(?<=\s)/]) {
    const pieces = block.text.split(separator);
    if (pieces.length === 1 || !pieces.every(fits)) continue;
    return pack(pieces, fits).map((text) => ({ ...block, text: text.trim() }));
  }
  const middle = Math.floor(block.text.length / 2);
  if (middle === 0) return []; // nothing but headings that are too long by themselves
  return [block.text.slice(0, middle), block.text.slice(middle)].flatMap((text) =>
    fit({ ...block, text }, options),
  );
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
