/** One file into a collection, for a node that serves meanwhile: reading and cutting are another process's work. */
import { NodeError } from "../core/errors.ts";
import type { EmbeddingEngine } from "../core/ports/embedding-engine.ts";
import type { EmbeddedPassage, PassageRepository } from "../core/ports/passage-repository.ts";
import type { Chunk } from "./chunk.ts";
import { digest } from "./passage-identity.ts";
import { type PlannedPassage, recipe, storedVectors, toPassages } from "./plan-document.ts";
import { unreadable } from "./readers/limits.ts";
import type { CutOptions, Cutting, ReadingProcess } from "./reading-process.ts";

export interface TakeInOptions {
  /** What it is called in the collection; its ending says what it is. */
  document: string;
  bytes: Uint8Array;
  /** Digest of its bytes. */
  sha256: string;
  repository: PassageRepository;
  documentPrefix: string;
  chunking: CutOptions;
  engine: EmbeddingEngine;
  reading: Pick<ReadingProcess, "cut">;
  limits: Parameters<ReadingProcess["cut"]>[2]["limits"];
  signal: AbortSignal;
  /** Hears how many passages there will be before any is embedded; may refuse. */
  onPlanned: (passages: number) => Promise<void>;
}

export interface TakenIn {
  passages: number;
  /** Bytes of the passages' texts and vectors. */
  bytes: number;
}

/** What a document's digest says of where it comes from. */
const origin = "upload";
/** Passages that are stored together: a crash loses as many. */
const batchSize = 64;
/** Texts whose tokens are counted, and passages that are named, before others get their turn. */
const slice = 1024;

/** Stores the file's passages in the place of those that the collection has of it. */
export async function takeIn(options: TakeInOptions): Promise<TakenIn> {
  const { document, repository, engine, documentPrefix, signal } = options;
  const chunks = await cut(options);
  const vectors = await storedVectors(repository, document);
  const { maxTokens, overlapTokens } = options.chunking;
  const content = digest(recipe, documentPrefix, `${maxTokens} ${overlapTokens}`, options.sha256);
  const { passages } = await toPassages(chunks, {
    ...{ document, documentHash: `${origin}:${content}`, documentPrefix, vectors },
    countTokens: (sources) => inSlices(sources, (some) => engine.countTokens(some, { signal })),
  });
  if (passages.length === 0) {
    throw unreadable("holds no text; of a scan or a picture, text comes with OCR");
  }
  await options.onPlanned(passages.length);
  let bytes = 0;
  for (let start = 0; start < passages.length; start += batchSize) {
    signal.throwIfAborted();
    const batch = await embedded(passages.slice(start, start + batchSize), options);
    await repository.upsert(batch);
    for (const { source, vector } of batch) bytes += Buffer.byteLength(source) + vector.byteLength;
  }
  signal.throwIfAborted();
  await repository.delete(document, new Set(passages.map(({ id }) => id)));
  return { passages: passages.length, bytes };
}

function cut(options: TakeInOptions): Promise<Chunk[]> {
  const { reading, document, bytes, limits, engine, documentPrefix, signal, chunking } = options;
  const cutting: Cutting = {
    ...chunking,
    signal,
    countTokens: async (text) => {
      const [tokens = 0] = await engine.countTokens([documentPrefix + text], { signal });
      return tokens;
    },
  };
  return reading.cut(document, bytes, limits === undefined ? {} : { limits }, cutting);
}

async function embedded(
  passages: readonly PlannedPassage[],
  { engine, documentPrefix, signal }: TakeInOptions,
): Promise<EmbeddedPassage[]> {
  const missing = passages.filter(({ vector }) => vector === undefined);
  const texts = missing.map(({ source }) => documentPrefix + source);
  const embeddings = texts.length === 0 ? [] : await engine.embed(texts, { signal });
  const vectors = new Map(missing.map(({ id }, at) => [id, embeddings[at]?.vector]));
  return passages.map((passage) => {
    const vector = passage.vector ?? vectors.get(passage.id);
    if (vector === undefined) throw new NodeError("internal", "A passage was not embedded.");
    return { ...passage, vector };
  });
}

async function inSlices<Value, Result>(
  values: readonly Value[],
  work: (some: Value[]) => Promise<readonly Result[]>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < values.length; start += slice) {
    for (const result of await work(values.slice(start, start + slice))) results.push(result);
  }
  return results;
}
