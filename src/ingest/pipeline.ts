/** From documents to stored passages: read, cut, embed what is new, store, and remove what is gone. */
import { NodeError, reasonOf } from "../core/errors.ts";
import type { EmbeddedPassage, StoredDocument } from "../core/ports/passage-repository.ts";
import type { Progress } from "../core/progress.ts";
import {
  type PlannedPassage,
  type PlanOptions,
  planDocument,
  type SourceDocument,
} from "./plan-document.ts";
import { isUnreadable } from "./readers/limits.ts";

export interface IngestOptions extends PlanOptions {
  progress: Progress;
  signal: AbortSignal;
  /** Says at once what cannot be read. */
  onProblem: (document: string, reason: string) => void;
  /** Says what would be done, and does nothing. */
  dryRun?: boolean;
}

export interface IngestSummary {
  /** Documents, by what became of them. */
  added: string[];
  changed: string[];
  unchanged: string[];
  /** Documents without any text. */
  empty: string[];
  failed: string[];
  /** Passages that were embedded and stored. */
  embedded: number;
  /** Passages of changed documents that were there already. */
  reused: number;
  /** Passages that were left out since the model can read nothing in them. */
  unreadable: number;
}

/** Passages embedded together: enough to keep every core busy, and few, since a crash loses a batch. */
const batchSize = 64;

/** A batch of passages; a document is done when its last batch is stored. */
interface Batch {
  passages: PlannedPassage[];
  /** The batch's share of its documents' bytes, for the progress bar. */
  bytes: number;
  done: { document: SourceDocument; ids: ReadonlySet<string> }[];
}

/** Stores the documents' passages. What is reported as stored survives a crash, and a second run continues there. */
export async function ingest(
  documents: readonly SourceDocument[],
  options: IngestOptions,
): Promise<IngestSummary> {
  const summary = emptySummary();
  const total = documents.reduce((sum, { bytes }) => sum + bytes, 0);
  const step = options.progress.step(
    options.dryRun === true ? "Reading documents" : "Storing passages",
    total,
    "bytes",
  );
  const startedAt = performance.now();
  let bytes = 0;
  const advance = (more: number): void => {
    bytes += more;
    const rate = summary.embedded / Math.max(0.001, (performance.now() - startedAt) / 1000);
    step.update(bytes, `${summary.embedded} passages, ${Math.round(rate)}/s`);
  };
  const batches = toBatches(documents, options, summary, advance);
  if (options.dryRun === true) {
    for await (const batch of batches) {
      summary.embedded += countNew(batch);
      advance(batch.bytes);
    }
  } else {
    await storeAll(batches, options, summary, advance);
  }
  step.finish(`${summary.embedded} passages of ${documents.length} documents`);
  return summary;
}

/** Embeds a batch while the one before is stored. Batches are stored in order: the last one of a document removes its old passages. */
async function storeAll(
  batches: AsyncIterable<Batch>,
  options: IngestOptions,
  summary: IngestSummary,
  advance: (bytes: number) => void,
): Promise<void> {
  let storing: Promise<void> = Promise.resolve();
  for await (const batch of batches) {
    const embedding = embedBatch(batch, options);
    const before = storing;
    storing = (async () => {
      const passages = await embedding;
      await before;
      await store(passages, batch, options);
      summary.embedded += countNew(batch);
      advance(batch.bytes);
    })();
    // A failure is reported where the next batch would begin, or at the end.
    storing.catch(() => {});
    await before;
  }
  await storing;
}

async function* toBatches(
  documents: readonly SourceDocument[],
  options: IngestOptions,
  summary: IngestSummary,
  advance: (bytes: number) => void,
): AsyncGenerator<Batch> {
  const stored = await storedDocuments(options);
  let batch = emptyBatch();
  for (const document of documents) {
    options.signal.throwIfAborted();
    const before = stored.get(document.name);
    const plan = await planDocument(document, before, options).catch((error: unknown) => {
      if (!isUnreadable(error)) throw error;
      options.onProblem(document.name, reasonOf(error));
      return undefined;
    });
    if (plan === undefined || plan.change === "none") {
      (plan === undefined ? summary.failed : summary.unchanged).push(document.name);
      advance(document.bytes);
      continue;
    }
    const { passages, change, unreadable } = plan;
    const list = passages.length === 0 ? "empty" : change === "new" ? "added" : "changed";
    summary[list].push(document.name);
    summary.unreadable += unreadable;
    summary.reused += passages.filter(({ vector }) => vector !== undefined).length;
    for (const passage of passages) {
      batch.passages.push(passage);
      batch.bytes += document.bytes / passages.length;
      if (batch.passages.length < batchSize) continue;
      yield batch;
      batch = emptyBatch();
    }
    batch.done.push({ document, ids: new Set(passages.map(({ id }) => id)) });
  }
  if (batch.done.length > 0) yield batch;
}

async function embedBatch(
  { passages }: Batch,
  { engine, documentPrefix, signal }: IngestOptions,
): Promise<EmbeddedPassage[]> {
  const missing = passages.filter(({ vector }) => vector === undefined);
  const texts = missing.map(({ source }) => documentPrefix + source);
  const embeddings = await engine.embed(texts, { signal });
  const vectors = new Map(missing.map(({ id }, at) => [id, embeddings[at]?.vector]));
  return passages.map((passage) => {
    const vector = passage.vector ?? vectors.get(passage.id);
    if (vector === undefined) throw new NodeError("internal", "A passage was not embedded.");
    return { ...passage, vector };
  });
}

async function store(
  passages: readonly EmbeddedPassage[],
  { done }: Batch,
  { repository }: IngestOptions,
): Promise<void> {
  // In this order a crash between the two loses nothing; the next run removes what is left over.
  await repository.upsert(passages);
  for (const { document, ids } of done) await repository.delete(document.name, ids);
}

async function storedDocuments({
  repository,
}: IngestOptions): Promise<Map<string, StoredDocument>> {
  return new Map((await repository.documents()).map((document) => [document.name, document]));
}

const countNew = ({ passages }: Batch): number =>
  passages.filter(({ vector }) => vector === undefined).length;

const emptyBatch = (): Batch => ({ passages: [], bytes: 0, done: [] });

const emptySummary = (): IngestSummary => ({
  added: [],
  changed: [],
  unchanged: [],
  empty: [],
  failed: [],
  embedded: 0,
  reused: 0,
  unreadable: 0,
});
