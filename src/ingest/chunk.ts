/** Splits a document into passages that fit an embedding model: at headings, blocks, sentences, words. */
import { nextTurn } from "../core/turns.ts";
import { type Block, toBlocks } from "./blocks.ts";

export interface ChunkSizes {
  /** Most tokens of a passage. */
  maxTokens: number;
  /** Tokens of the previous passage to repeat where a text is split. */
  overlapTokens: number;
}

export interface ChunkOptions extends ChunkSizes {
  /** Counts the tokens of each text; called with many at once. */
  countTokens: (texts: string[]) => Promise<readonly number[]>;
}

export interface Chunk {
  /** The passage, with the headings above it as its first line. */
  source: string;
  /** The headings above it as one line; empty if there are none. */
  heading: string;
}

/** The sizes, and a token counter that batches concurrent calls. */
interface Sizing extends ChunkSizes {
  countTokens: (text: string) => Promise<number>;
}

/** The passages of Markdown or plain texts, in order. */
export async function chunk(texts: readonly string[], options: ChunkOptions): Promise<Chunk[]> {
  return (await chunkAll([texts], options)).flat();
}

/** Those of several documents, whose tokens are counted together. */
export function chunkAll(
  documents: readonly (readonly string[])[],
  options: ChunkOptions,
): Promise<Chunk[][]> {
  const sizing = { ...options, countTokens: inBatches(options.countTokens) };
  const cutText = (text: string): Promise<Chunk[]> => {
    const sections = Map.groupBy(toBlocks(text), ({ section }) => section);
    return flatMap([...sections.values()], (section) => cutSection(section, sizing));
  };
  return Promise.all(documents.map((texts) => flatMap(texts, cutText)));
}

/** Packs as many blocks of a section into each passage as fit. */
async function cutSection(section: readonly Block[], sizing: Sizing): Promise<Chunk[]> {
  const blocks = await fitAll(section, sizing);
  const lengths = blocks.map(({ text }) => text.length);
  const chunks: Chunk[] = [];
  let before: Block | undefined;
  for (let start = 0; start < blocks.length; ) {
    const next = blocks[start];
    if (next === undefined) break;
    const first = before === undefined ? next : await overlapping(before, next, sizing);
    const run = (end: number): Block => joined(first, blocks.slice(start + 1, end));
    const end = await longestRun(lengths, start, sizing, (to) => fits(run(to), sizing));
    before = run(end);
    chunks.push({ source: render(before), heading: pathOf(before) });
    start = end;
  }
  return chunks;
}

/** Splits blocks into pieces that fit. Headings that would fill most of each passage become one passage of their own. */
async function fitAll(section: readonly Block[], sizing: Sizing): Promise<Block[]> {
  const [first] = section;
  if (first === undefined) return [];
  if (!(await crowds(first, sizing))) return await flatMap(section, (block) => fit(block, sizing));
  const path: Block = { ...first, headings: [], kind: "prose", text: pathOf(first) };
  const bare = section.map((block): Block => ({ ...block, headings: [] }));
  return await flatMap([path, ...bare], (block) => fit(block, sizing));
}

/** Whether the headings would fill more than half of a passage. */
async function crowds(block: Block, { countTokens, maxTokens }: Sizing): Promise<boolean> {
  const path = pathOf(block);
  const isLong = 2 * path.length > maxTokens * mostLettersPerToken;
  return path !== "" && (isLong || 2 * (await countTokens(path)) > maxTokens);
}

const pathOf = ({ headings }: Pick<Block, "headings">): string => headings.join(" > ");

const render = (block: Block): string =>
  block.headings.length === 0 ? block.text : `${pathOf(block)}\n\n${block.text}`;

const joined = (first: Block, others: readonly Block[]): Block => ({
  ...first,
  text: [first, ...others].map(({ text }) => text).join("\n\n"),
  kind: others.at(-1)?.kind ?? first.kind,
});

/** Puts the last sentences of the first block before the second, if both are prose. */
async function overlapping(first: Block, second: Block, sizing: Sizing): Promise<Block> {
  const { overlapTokens, countTokens } = sizing;
  if (overlapTokens <= 0 || first.kind !== "prose" || second.kind !== "prose") return second;
  const sentences = first.text.split(sentenceEnd);
  const lengths = sentences.map(({ length }) => length).toReversed();
  const lead = (count: number): string => sentences.slice(sentences.length - count).join("");
  const withLead = (count: number): Block => ({
    ...second,
    text: `${lead(count).trim()}\n\n${second.text}`,
  });
  const bounds = { ...sizing, maxTokens: overlapTokens };
  const isShort = async (count: number): Promise<boolean> => {
    const [tokens, isFitting] = await Promise.all([
      countTokens(lead(count)),
      fits(withLead(count), sizing),
    ]);
    return tokens <= overlapTokens && isFitting;
  };
  const count = await longestRun(lengths, 0, bounds, isShort);
  // The last sentence alone may be too long, and an overlap that is all of the first block only repeats it.
  const isUseless = lead(count).trim() === "" || lead(count).trim() === first.text.trim();
  return isUseless || (count === 1 && !(await isShort(1))) ? second : withLead(count);
}

/** A longer text is too long whatever its tokens: some tokenizers count a long word as one, and counting costs time. */
const mostLettersPerToken = 16;

async function fits(block: Block, { countTokens, maxTokens }: Sizing): Promise<boolean> {
  const text = render(block);
  return text.length <= maxTokens * mostLettersPerToken && (await countTokens(text)) <= maxTokens;
}

const lineEnd = /(?<=\n)/;
const sentenceEnd = /(?<=[.!?…。！？]["'”’)\]]*\s|[。！？])/;
const wordEnd = /(?<=\s)/;
const character = /(?:)/u;

/** A block that is too long becomes several, cut at lines or sentences, else words, else characters. */
async function fit(block: Block, sizing: Sizing): Promise<Block[]> {
  if (await fits(block, sizing)) return [block];
  if (block.kind === "table") return await fitTable(block, sizing);
  const room = (text: string): Promise<boolean> => fits({ ...block, text }, sizing);
  const separators = [lineEnd, sentenceEnd, wordEnd, character];
  return (await cut(block.text, separators, sizing, room)).map((text) => ({
    ...block,
    text: block.kind === "code" ? text.trimEnd() : text.trim(),
  }));
}

/** As many rows as fit, under the table's head again in each part; a row that does not fit is cut between words. */
async function fitTable(block: Block, sizing: Sizing): Promise<Block[]> {
  const lines = block.text.split("\n");
  const head = lines.slice(0, 2).join("\n");
  const withHead = (rows: string): string => `${head}\n${rows}`;
  const room = (text: string): Promise<boolean> => fits({ ...block, text: withHead(text) }, sizing);
  // For any of the pieces that `cut` does not measure, whatever they are: up to three tokens a letter.
  const tiny = "0 ".repeat(Math.ceil((3 * sizing.maxTokens) / mostLettersPerToken));
  if (!(await room(tiny))) return await fit({ ...block, kind: "prose" }, sizing);
  const rows = lines.slice(2).join("\n");
  const parts = await cut(rows, [lineEnd, wordEnd, character], sizing, room);
  return parts.map((part) => ({ ...block, text: withHead(part.trim()) }));
}

/** Splits at the first separator, cuts further only the pieces that are still too long, and packs. */
async function cut(
  text: string,
  [separator, ...finer]: readonly RegExp[],
  sizing: Sizing,
  fits: (text: string) => Promise<boolean>,
): Promise<string[]> {
  const isTiny = text.length * mostLettersPerToken <= sizing.maxTokens;
  if (separator === undefined || isTiny || (await fits(text))) return [text];
  const whole = text.split(separator);
  const pieces =
    finer.length === 0 ? whole : await flatMap(whole, (piece) => cut(piece, finer, sizing, fits));
  return (await pack(pieces, sizing, fits)).filter((piece) => piece.trim() !== "");
}

async function pack(
  pieces: readonly string[],
  sizing: Sizing,
  fits: (text: string) => Promise<boolean>,
): Promise<string[]> {
  const lengths = pieces.map(({ length }) => length);
  const packed: string[] = [];
  for (let start = 0; start < pieces.length; ) {
    const run = (end: number): string => pieces.slice(start, end).join("");
    const end = await longestRun(lengths, start, sizing, (to) => fits(run(to)));
    packed.push(run(end));
    start = end;
  }
  return packed;
}

/** Letters a token in most languages: where the ends of passages are looked for first. */
const usualLettersPerToken = [2, 3, 4, 5, 6];
/** Ends that are tried at a time. */
const tries = 4;

/** Where the longest run of pieces from `start` that fits ends; one piece always does. Several ends are tried in one batch. */
async function longestRun(
  lengths: readonly number[],
  start: number,
  { maxTokens }: ChunkSizes,
  fits: (end: number) => Promise<boolean>,
): Promise<number> {
  const endWithin = (letters: number): number => {
    let end = start;
    for (let sum = 0; end < lengths.length; end += 1) {
      sum += lengths[end] ?? 0;
      if (sum > letters) break;
    }
    return end;
  };
  let good = start + 1;
  let bad = endWithin(maxTokens * mostLettersPerToken) + 1;
  let ends = usualLettersPerToken.map((letters) => endWithin(maxTokens * letters));
  while (bad - good > 1) {
    const between = [...new Set(ends)].filter((end) => end > good && end < bad);
    const tried = between.length === 0 ? spread(good, bad) : between;
    const fit = await Promise.all(tried.map(fits));
    const firstBad = fit.indexOf(false);
    const fitting = firstBad === -1 ? tried : tried.slice(0, firstBad);
    bad = tried[firstBad] ?? bad;
    good = fitting.at(-1) ?? good;
    ends = spread(good, bad);
  }
  return good;
}

const spread = (low: number, high: number): number[] =>
  Array.from(
    { length: tries },
    (_, at) => low + Math.ceil(((at + 1) * (high - low)) / (tries + 1)),
  ).filter((value, at, all) => value < high && value !== all[at - 1]);

/** Values that are processed at the same time, so that their tokens are counted together. */
const mostAtOnce = 256;

async function flatMap<Value, Result>(
  values: readonly Value[],
  map: (value: Value) => Promise<Result[]>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < values.length; start += mostAtOnce) {
    // Not `push(...results)`: a hundred thousand arguments overflow the stack.
    for (const some of await Promise.all(values.slice(start, start + mostAtOnce).map(map))) {
      for (const result of some) results.push(result);
    }
  }
  return results;
}

/** Bounds of one call: tokenizing so much takes some milliseconds. */
const mostTexts = 256;
const mostLetters = 1 << 17;

/** Counts the texts of one turn of the event loop in one call: the model may be in another process. */
function inBatches(countTokens: ChunkOptions["countTokens"]): Sizing["countTokens"] {
  const waiting: (PromiseWithResolvers<number> & { text: string })[] = [];
  let isCounting = false;
  const countAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      let count = 0;
      for (let letters = 0; count < Math.min(waiting.length, mostTexts); count += 1) {
        letters += waiting[count]?.text.length ?? 0;
        if (letters > mostLetters && count > 0) break;
      }
      const batch = waiting.splice(0, count);
      try {
        const counts = await countTokens(batch.map(({ text }) => text));
        for (const [at, { resolve }] of batch.entries()) resolve(counts[at] ?? 0);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
      await nextTurn();
    }
    isCounting = false;
  };
  return (text) => {
    const call = { ...Promise.withResolvers<number>(), text };
    waiting.push(call);
    if (!isCounting) setImmediate(() => void countAll());
    isCounting = true;
    return call.promise;
  };
}
