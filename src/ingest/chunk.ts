/** Cuts a document into passages that an embedding model can take: along headings, blocks, sentences, words. */
import { type Block, toBlocks } from "./blocks.ts";

export interface ChunkOptions {
  /** Most tokens of a passage. */
  maxTokens: number;
  /** Tokens of the passage before that are repeated where a text had to be cut. */
  overlapTokens: number;
  countTokens: (text: string) => Promise<number>;
}

export interface Chunk {
  /** The passage, with the headings above it as its first line. */
  source: string;
  /** The headings above it as one line; empty where there is none. */
  heading: string;
}

/** The passages of a Markdown or plain text, in order. */
export async function chunk(text: string, options: ChunkOptions): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  let current: Block | undefined;
  const flush = (): void => {
    if (current !== undefined) chunks.push(toChunk(current));
    current = undefined;
  };
  for (const block of await fitAll(toBlocks(text), options)) {
    const joined = current === undefined ? undefined : await join(current, block, options);
    if (joined !== undefined) {
      current = joined;
      continue;
    }
    const before = current;
    flush();
    current = before === undefined ? block : await overlapping(before, block, options);
  }
  flush();
  return chunks;
}

/** Every block in pieces that fit. Headings that would take most of each passage are a passage of their own, once. */
async function fitAll(blocks: readonly Block[], options: ChunkOptions): Promise<Block[]> {
  let section: number | undefined;
  let isCrowded = false;
  return await flatMap(blocks, async (block) => {
    const isFirst = block.section !== section;
    if (isFirst) isCrowded = await crowds(block, options);
    section = block.section;
    if (!isCrowded || block.headings.length === 0) return await fit(block, options);
    const bare: Block = { ...block, headings: [] };
    const path: Block[] = isFirst ? [{ ...bare, kind: "prose", text: pathOf(block) }] : [];
    return await flatMap([...path, bare], (part) => fit(part, options));
  });
}

/** Whether the headings would take more than half of a passage. */
async function crowds(block: Block, { countTokens, maxTokens }: ChunkOptions): Promise<boolean> {
  const path = pathOf(block);
  if (path === "") return false;
  return (
    2 * path.length > maxTokens * mostLettersPerToken || 2 * (await countTokens(path)) > maxTokens
  );
}

const pathOf = ({ headings }: Pick<Block, "headings">): string => headings.join(" > ");

const toChunk = (block: Block): Chunk => ({ source: render(block), heading: pathOf(block) });

const render = (block: Block): string =>
  block.headings.length === 0 ? block.text : `${pathOf(block)}\n\n${block.text}`;

/** Two blocks as one where they stand under the same headings and fit. */
async function join(
  first: Block,
  second: Block,
  options: ChunkOptions,
): Promise<Block | undefined> {
  if (first.section !== second.section) return undefined;
  const joined: Block = { ...first, text: `${first.text}\n\n${second.text}`, kind: second.kind };
  return (await fits(joined, options)) ? joined : undefined;
}

/** The second block with the last sentences of the first before it, where both are prose of one section. */
async function overlapping(first: Block, second: Block, options: ChunkOptions): Promise<Block> {
  if (options.overlapTokens <= 0 || first.section !== second.section) return second;
  if (first.kind !== "prose" || second.kind !== "prose") return second;
  const sentences = first.text.split(sentenceEnd);
  let lead = "";
  for (const sentence of sentences.toReversed()) {
    const longer = `${sentence}${lead}`;
    if ((await options.countTokens(longer)) > options.overlapTokens) break;
    if (!(await fits({ ...second, text: `${longer.trim()}\n\n${second.text}` }, options))) break;
    lead = longer;
  }
  // An overlap that is all of the first block would only repeat that passage.
  if (lead.trim() === "" || lead.trim() === first.text.trim()) return second;
  return { ...second, text: `${lead.trim()}\n\n${second.text}` };
}

/** A longer text is too long whatever its tokens: some tokenizers count a long word as one, and counting costs time. */
const mostLettersPerToken = 16;

async function fits(block: Block, { countTokens, maxTokens }: ChunkOptions): Promise<boolean> {
  const text = render(block);
  return text.length <= maxTokens * mostLettersPerToken && (await countTokens(text)) <= maxTokens;
}

const lineEnd = /(?<=\n)/;
const sentenceEnd = /(?<=[.!?…。！？]["'”’)\]]*\s|[。！？])/;
const wordEnd = /(?<=\s)/;
const character = /(?:)/u;

/** A block that is too long becomes several, cut at lines or sentences, else words, else characters. */
async function fit(block: Block, options: ChunkOptions): Promise<Block[]> {
  if (await fits(block, options)) return [block];
  if (block.kind === "table") return await fitTable(block, options);
  const room = (text: string): Promise<boolean> => fits({ ...block, text }, options);
  const separators = [lineEnd, sentenceEnd, wordEnd, character];
  return (await cut(block.text, separators, room)).map((text) => ({
    ...block,
    text: block.kind === "code" ? text.trimEnd() : text.trim(),
  }));
}

/** As many rows as fit, under the table's head again in each part; a row that does not fit is cut between words. */
async function fitTable(block: Block, options: ChunkOptions): Promise<Block[]> {
  const lines = block.text.split("\n");
  const head = lines.slice(0, 2).join("\n");
  const withHead = (rows: string): string => `${head}\n${rows}`;
  const room = (text: string): Promise<boolean> =>
    fits({ ...block, text: withHead(text) }, options);
  if (!(await room("word"))) return await fit({ ...block, kind: "prose" }, options);
  const rows = lines.slice(2).join("\n");
  const parts = await cut(rows, [lineEnd, wordEnd, character], room);
  return parts.map((part) => ({ ...block, text: withHead(part.trim()) }));
}

/** Splits at the first separator, cuts further only the pieces that are still too long, and packs. */
async function cut(
  text: string,
  [separator, ...finer]: readonly RegExp[],
  fits: (text: string) => Promise<boolean>,
): Promise<string[]> {
  if (separator === undefined || (await fits(text))) return [text];
  const pieces = await flatMap(text.split(separator), (piece) => cut(piece, finer, fits));
  return (await pack(pieces, fits)).filter((piece) => piece.trim() !== "");
}

/** Joins neighbours for as long as they fit. */
async function pack(
  pieces: readonly string[],
  fits: (text: string) => Promise<boolean>,
): Promise<string[]> {
  const packed: string[] = [];
  let start = 0;
  while (start < pieces.length) {
    const end = await longest(pieces, start, fits);
    packed.push(pieces.slice(start, end).join(""));
    start = end;
  }
  return packed;
}

/** Where the longest run of pieces from `start` that fits ends: by doubling and bisection, since counting tokens is slow. */
async function longest(
  pieces: readonly string[],
  start: number,
  fits: (text: string) => Promise<boolean>,
): Promise<number> {
  const run = (end: number): Promise<boolean> => fits(pieces.slice(start, end).join(""));
  let good = start + 1;
  let step = 1;
  while (good < pieces.length && (await run(Math.min(pieces.length, good + step)))) {
    good = Math.min(pieces.length, good + step);
    step *= 2;
  }
  let bad = Math.min(pieces.length + 1, good + step);
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (await run(middle)) good = middle;
    else bad = middle;
  }
  return good;
}

/** Maps one value after the other, not all at once: each counts tokens. */
async function flatMap<Value, Result>(
  values: readonly Value[],
  map: (value: Value) => Promise<Result[]>,
): Promise<Result[]> {
  const results: Result[] = [];
  // Not `push(...results)`: a hundred thousand arguments overflow the stack.
  for (const value of values) for (const result of await map(value)) results.push(result);
  return results;
}
