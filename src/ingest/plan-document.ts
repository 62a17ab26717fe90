/** What becomes of a document: unchanged, or its passages, of which those that are stored need no embedding. */
import { NodeError, reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { EmbeddingEngine } from "../core/ports/embedding-engine.ts";
import type {
  Passage,
  PassageRepository,
  StoredDocument,
} from "../core/ports/passage-repository.ts";
import { type Chunk, chunk } from "./chunk.ts";
import { digest, passageId } from "./passage-identity.ts";
import type { ReadLimits } from "./readers/limits.ts";
import { readDocument } from "./readers/read.ts";

/** A document before it is read. */
export interface SourceDocument {
  /** What it is called in the collection; ingesting the same name again replaces it. */
  name: string;
  /** Where it comes from, in a word without a colon: a digest of a folder's path, `stdin`, `handbook`. */
  origin: string;
  /** Its size, as far as it is known before. */
  bytes: number;
  read(): Promise<Uint8Array>;
}

export interface PlanOptions {
  engine: EmbeddingEngine;
  repository: PassageRepository;
  /** What the collection's model wants before a passage. */
  documentPrefix: string;
  /** Column or field of a record that holds its text. */
  textField?: string;
  limits?: ReadLimits;
  /** Turns a document into texts; default: in this process. */
  readDocument?: typeof readDocument;
}

export interface PlannedPassage extends Passage {
  /** Present where the passage is stored already. */
  vector?: Float32Array;
}

export type DocumentPlan =
  | { change: "none" }
  | {
      change: "new" | "changed";
      passages: PlannedPassage[];
      /** Passages that hold nothing the model can read. */
      unreadable: number;
    };

/** Passages much longer than this blur what they are about. */
export const bestPassageTokens = 256;
export const overlapTokens = 32;
/** Passages that are named at a time; some milliseconds. */
const slice = 1024;
/** Part of a document's digest: raised when texts are cut in another way, so that every document is cut anew. */
export const recipe = "3";

export async function planDocument(
  document: SourceDocument,
  stored: StoredDocument | undefined,
  options: PlanOptions,
): Promise<DocumentPlan> {
  const { engine, repository, documentPrefix, textField, limits } = options;
  const { readDocument: read = readDocument } = options;
  const bytes = await contentOf(document);
  const content = digest(recipe, documentPrefix, textField ?? "", bytes);
  const documentHash = `${document.origin}:${content}`;
  if (stored?.hash === documentHash && stored.passages === stored.parts) return { change: "none" };
  const texts = await read(document.name, bytes, {
    ...given({ textField, limits }),
  });
  const chunks: Chunk[] = [];
  for (const text of texts) {
    for (const part of await cutToFit(text, engine, documentPrefix)) chunks.push(part);
  }
  const vectors = stored === undefined ? new Map() : await storedVectors(repository, document.name);
  const { passages, unreadable } = await toPassages(chunks, {
    ...{ document: document.name, documentHash, documentPrefix, vectors },
    countTokens: (sources) => engine.countTokens(sources),
  });
  return { change: stored === undefined ? "new" : "changed", unreadable, passages };
}

export interface PassageOptions {
  document: string;
  documentHash: string;
  documentPrefix: string;
  /** Of passages that are stored already, by their ids. */
  vectors: ReadonlyMap<string, Float32Array>;
  countTokens: (sources: string[]) => Promise<readonly number[]>;
}

/** Chunks as passages, without those that hold nothing the model can read. */
export async function toPassages(
  chunks: readonly Chunk[],
  { document, documentHash, documentPrefix, vectors, countTokens }: PassageOptions,
): Promise<{ passages: PlannedPassage[]; unreadable: number }> {
  const counts = await countTokens(chunks.map(({ source }) => source));
  const readable = chunks.filter((_, at) => counts[at] !== 0);
  const occurrences = new Map<string, number>();
  const passages: PlannedPassage[] = [];
  for (const [position, { source, heading }] of readable.entries()) {
    // A node that serves meanwhile is not held up.
    if (position % slice === slice - 1) await new Promise((resolve) => setImmediate(resolve));
    const hash = digest(documentPrefix, source);
    const occurrence = occurrences.get(hash) ?? 0;
    occurrences.set(hash, occurrence + 1);
    const id = passageId(document, hash, occurrence);
    const vector = vectors.get(id);
    passages.push({
      ...{ id, source, document, heading, position, hash, documentHash },
      parts: readable.length,
      ...given({ vector }),
    });
  }
  return { passages, unreadable: chunks.length - readable.length };
}

/** A text's passages, each of a size that the model takes with its prefix. */
export async function cutToFit(
  text: string,
  engine: EmbeddingEngine,
  documentPrefix: string,
): Promise<Chunk[]> {
  return await chunk(text, {
    maxTokens: Math.min(engine.maxTokens, bestPassageTokens),
    overlapTokens,
    countTokens: async (passage) => {
      const [tokens = 0] = await engine.countTokens([documentPrefix + passage]);
      return tokens;
    },
  });
}

/** The origin that a document's digest carries; undefined where it carries none. */
export const originIn = (hash: string | undefined): string | undefined =>
  hash?.includes(":") ? hash.slice(0, hash.indexOf(":")) : undefined;

async function contentOf(document: SourceDocument): Promise<Uint8Array> {
  try {
    return await document.read();
  } catch (cause) {
    if (cause instanceof NodeError) throw cause;
    throw new NodeError("invalid_request", `It cannot be read: ${reasonOf(cause)}.`, { cause });
  }
}

export async function storedVectors(
  repository: PassageRepository,
  document: string,
): Promise<Map<string, Float32Array>> {
  const vectors = new Map<string, Float32Array>();
  for await (const { id, vector } of repository.passages(document)) vectors.set(id, vector);
  return vectors;
}
