/** Plans the ingest of documents: unchanged, or their passages, with the vectors of those already stored. */
import { NodeError, reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { EmbeddingEngine } from "../core/ports/embedding-engine.ts";
import type {
  Passage,
  PassageRepository,
  StoredDocument,
} from "../core/ports/passage-repository.ts";
import { type Chunk, type ChunkOptions, type ChunkSizes, chunkAll } from "./chunk.ts";
import { isUnreadable } from "./readers/limits.ts";
import { type ReadOptions, type ReadText, readDocument } from "./readers/read.ts";

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

/** Reads documents and splits them into passages, in their order; for one that cannot be read, returns why. */
export type CutDocuments = (
  documents: readonly { name: string; bytes: Uint8Array }[],
  options: Partial<ReadOptions>,
  cutting: ChunkOptions & { signal: AbortSignal },
) => Promise<(Chunk[] | NodeError)[]>;

export interface PlanOptions extends Partial<ReadOptions> {
  engine: EmbeddingEngine;
  repository: PassageRepository;
  documentPrefix: string;
  /** Length of passages; default: best for retrieval, and within the model's limit. */
  sizes?: ChunkSizes;
  cut?: CutDocuments;
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

/** A document in the collection; "unknown" if it was not looked up, so it is split in any case. */
export type Before = StoredDocument | "unknown" | undefined;

interface Content {
  document: SourceDocument;
  before: Before;
  bytes: Uint8Array;
  documentHash: string;
}

/** Plans documents together, which takes much less time for small ones; for one that cannot be read, gives why. */
export async function planDocuments(
  documents: ReadonlyMap<SourceDocument, Before>,
  options: PlanOptions,
): Promise<Map<SourceDocument, DocumentPlan | NodeError>> {
  const { engine, documentPrefix, textField, limits, signal } = options;
  const { sizes = usualSizes(engine), cut = cutDocuments } = options;
  const plans = new Map<SourceDocument, DocumentPlan | NodeError>();
  const settings = `${sizes.maxTokens} ${sizes.overlapTokens} ${textField ?? ""}`;
  const read = async ([document, before]: [SourceDocument, Before]): Promise<Content[]> => {
    const bytes = await contentOf(document).catch(asRefusal);
    if (bytes instanceof NodeError) {
      plans.set(document, bytes);
      return [];
    }
    const content = digest(recipe, documentPrefix, settings, document.sha256 ?? bytes);
    const documentHash = `${document.origin}:${content}`;
    const isStored = typeof before === "object" && before.passages === before.parts;
    if (!isStored || before.hash !== documentHash)
      return [{ document, before, bytes, documentHash }];
    plans.set(document, { change: "none" });
    return [];
  };
  const changed = (await Promise.all([...documents].map(read))).flat();
  const named = changed.map(({ document: { name }, bytes }) => ({ name, bytes }));
  const countTokens = (texts: string[]): Promise<number[]> =>
    engine.countTokens(
      texts.map((text) => documentPrefix + text),
      { signal },
    );
  const cutting = { ...sizes, signal, countTokens };
  const outcomes =
    changed.length === 0 ? [] : await cut(named, given({ textField, limits }), cutting);
  for (const [at, content] of changed.entries()) {
    const chunks = outcomes[at] ?? [];
    const plan =
      chunks instanceof NodeError ? chunks : await planPassages(content, chunks, options);
    plans.set(content.document, plan);
  }
  return plans;
}

async function planPassages(
  { document, before, documentHash }: Content,
  chunks: readonly Chunk[],
  { engine, repository, documentPrefix, signal }: PlanOptions,
): Promise<DocumentPlan> {
  const counts: number[] = [];
  for (let start = 0; start < chunks.length; start += slice) {
    const sources = chunks.slice(start, start + slice).map(({ source }) => source);
    counts.push(...(await engine.countTokens(sources, { signal })));
  }
  const readable = chunks.filter((_, at) => counts[at] !== 0);
  const vectors = new Map<string, Float32Array>();
  const known = before === undefined ? [] : repository.passages(document.name);
  for await (const { id, vector } of known) vectors.set(id, vector);
  const named = { document: document.name, documentHash };
  return {
    change: before === undefined ? "new" : "changed",
    count: readable.length,
    passages: toPassages(readable, named, documentPrefix, vectors),
    unreadable: chunks.length - readable.length,
  };
}

/** In this process, which a hostile document can hold up or fill; see reading-process.ts. */
export const cutDocuments: CutDocuments = async (documents, options, cutting) => {
  const texts: (ReadText | NodeError)[] = [];
  for (const { name, bytes } of documents) {
    texts.push(await readDocument(name, bytes, options).catch(asRefusal));
  }
  const read = texts.flatMap((each) => (each instanceof NodeError ? [] : [each]));
  const chunks = (await chunkAll(read, cutting)).values();
  return texts.map((each) => (each instanceof NodeError ? each : (chunks.next().value ?? [])));
};

/** Why a document cannot be read; another error is thrown. */
function asRefusal(error: unknown): NodeError {
  if (isUnreadable(error)) return error;
  throw error;
}

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
