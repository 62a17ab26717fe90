/** Plans the ingest of a document: unchanged, or its passages, with the vectors of those already stored. */
import { NodeError, reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { EmbeddingEngine } from "../core/ports/embedding-engine.ts";
import type {
  Passage,
  PassageRepository,
  StoredDocument,
} from "../core/ports/passage-repository.ts";
import { type Chunk, type ChunkOptions, type ChunkSizes, chunk } from "./chunk.ts";
import { type ReadOptions, readDocument } from "./readers/read.ts";

/** A document before it is read. */
export interface SourceDocument {
  /** Its name in the collection; ingesting the same name again replaces it. */
  name: string;
  /** Where it comes from, in a word without a colon: a digest of a folder's path, `stdin`, `handbook`, `upload`. */
  origin: string;
  /** Its size, if known before reading. */
  bytes: number;
  /** Of its bytes, if known. */
  sha256?: string;
  read(): Promise<Uint8Array>;
}

/** Reads a document and splits it into passages. */
export type CutDocument = (
  name: string,
  bytes: Uint8Array,
  options: Partial<ReadOptions>,
  cutting: ChunkOptions & { signal: AbortSignal },
) => Promise<Chunk[]>;

export interface PlanOptions extends Partial<ReadOptions> {
  engine: EmbeddingEngine;
  repository: PassageRepository;
  documentPrefix: string;
  /** Length of passages; default: best for retrieval, and within the model's limit. */
  sizes?: ChunkSizes;
  cut?: CutDocument;
  signal: AbortSignal;
}

export interface PassageToStore extends Passage {
  /** Present if it is already embedded. */
  vector?: Float32Array;
}

export type DocumentPlan =
  | { change: "none" }
  | {
      change: "new" | "changed";
      /** How many passages there are. */
      count: number;
      /** Made as they are read, once: a small file may have a million, of a kilobyte each. */
      passages: Iterable<PassageToStore>;
      /** Passages in which the model can read nothing. */
      unreadable: number;
    };

/** Much longer passages mix several topics, and match worse. */
const bestPassageTokens = 256;
const overlapTokens = 32;
/** Texts whose tokens are counted at a time; some milliseconds. */
const slice = 1024;
/** Part of a document's digest: raised when texts are cut in another way, so that every document is cut again. */
const recipe = "3";

export const usualSizes = ({ maxTokens }: { maxTokens: number }): ChunkSizes => ({
  maxTokens: Math.min(maxTokens, bestPassageTokens),
  overlapTokens,
});

/** `stored`: the document in the collection; "unknown" if it was not looked up, so it is split in any case. */
export async function planDocument(
  document: SourceDocument,
  stored: StoredDocument | "unknown" | undefined,
  options: PlanOptions,
): Promise<DocumentPlan> {
  const { engine, repository, documentPrefix, textField, limits, signal } = options;
  const { sizes = usualSizes(engine), cut = cutDocument } = options;
  const bytes = await contentOf(document);
  const settings = `${sizes.maxTokens} ${sizes.overlapTokens} ${textField ?? ""}`;
  const documentHash = `${document.origin}:${digest(recipe, documentPrefix, settings, document.sha256 ?? bytes)}`;
  const isStored = typeof stored === "object" && stored.passages === stored.parts;
  if (isStored && stored.hash === documentHash) return { change: "none" };
  const chunks = await cut(document.name, bytes, given({ textField, limits }), {
    ...sizes,
    signal,
    countTokens: (texts) =>
      engine.countTokens(
        texts.map((text) => documentPrefix + text),
        { signal },
      ),
  });
  const counts: number[] = [];
  for (let start = 0; start < chunks.length; start += slice) {
    const sources = chunks.slice(start, start + slice).map(({ source }) => source);
    counts.push(...(await engine.countTokens(sources, { signal })));
  }
  const readable = chunks.filter((_, at) => counts[at] !== 0);
  const known = stored === undefined ? [] : repository.passages(document.name);
  const vectors = new Map<string, Float32Array>();
  for await (const { id, vector } of known) vectors.set(id, vector);
  const named = { document: document.name, documentHash };
  return {
    change: stored === undefined ? "new" : "changed",
    count: readable.length,
    passages: toPassages(readable, named, documentPrefix, vectors),
    unreadable: chunks.length - readable.length,
  };
}

/** In this process, which a hostile document can hold up or fill; see reading-process.ts. */
export const cutDocument: CutDocument = async (name, bytes, options, cutting) =>
  await chunk(await readDocument(name, bytes, options), cutting);

function* toPassages(
  chunks: readonly Chunk[],
  document: Pick<Passage, "document" | "documentHash">,
  documentPrefix: string,
  vectors: ReadonlyMap<string, Float32Array>,
): Generator<PassageToStore> {
  const occurrences = new Map<string, number>();
  const parts = chunks.length;
  for (const [position, { source, heading }] of chunks.entries()) {
    const hash = digest(documentPrefix, source);
    const occurrence = occurrences.get(hash) ?? 0;
    occurrences.set(hash, occurrence + 1);
    const id = passageId(document.document, hash, occurrence);
    const vector = vectors.get(id);
    yield { ...document, id, source, heading, position, hash, parts, ...given({ vector }) };
  }
}

export const originIn = (hash: string | undefined): string | undefined =>
  hash?.includes(":") ? hash.slice(0, hash.indexOf(":")) : undefined;

/** Of the document and what was embedded, so that storing twice stores once; `occurrence` tells equal texts apart. */
export function passageId(document: string, hash: string, occurrence: number): string {
  const hex = digest(document, hash, String(occurrence));
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-8$3-8$4-$5");
}

/** A digest of texts in order. Each is preceded by its length, so that two lists never give the same bytes. */
export function digest(...texts: readonly (string | Uint8Array)[]): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const text of texts) hash.update(`${text.length}:`).update(text);
  return hash.digest("hex").slice(0, 32);
}

async function contentOf(document: SourceDocument): Promise<Uint8Array> {
  try {
    return await document.read();
  } catch (cause) {
    if (cause instanceof NodeError) throw cause;
    throw new NodeError("invalid_request", `It cannot be read: ${reasonOf(cause)}.`, { cause });
  }
}
