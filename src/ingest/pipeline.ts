/** The one ingest pipeline: reads and splits documents, embeds and stores what is new, removes what is gone. */

import { NodeError } from "../core/errors.ts";
import type { EmbeddedPassage } from "../core/ports/passage-repository.ts";
import type { Progress } from "../core/progress.ts";
import { nextTurn } from "../core/turns.ts";
import { engineFor } from "./blame.ts";
import {
  type Before,
  type PassageToStore,
  type PlanOptions,
  planDocuments,
  type SourceDocument,
} from "./passages.ts";
import { unreadable } from "./readers/limits.ts";

export interface IngestOptions extends PlanOptions {
  progress?: Progress;
  /** Called for each document that cannot be read; default: the first one ends the ingest. */
  onProblem?: (document: string, reason: string) => void;
  /** Called with the number of passages before any is embedded; may throw to refuse the document. */
  onPlanned?: (passages: number) => Promise<void>;
  /** Called when passages are stored that were not before. */
  onEmbedded?: () => void;
  /** Reports what would be done, and changes nothing. */
  dryRun?: boolean;
  /** Ingests documents also if the collection has them unchanged, without a look at the list of all. */
  always?: boolean;
}

export interface IngestSummary {
  /** Documents, by what became of them. */
  added: string[];
  changed: string[];
  unchanged: string[];
  empty: string[];
  failed: string[];
  embedded: number;
  /** Passages of changed documents that were already stored. */
  reused: number;
  /** Passages that were left out because the model can read nothing in them. */
  unreadable: number;
}

/** Passages embedded together: enough to keep every core busy, and few, since a crash loses a batch. */
const batchSize = 64;

/** Bytes of documents that are read together. */
const groupBytes = 1 << 17;

/** A batch of passages; a document is done when its last batch is stored. */
interface Batch {
  passages: PassageToStore[];
  /** The batch's share of its documents' bytes, for the progress bar. */
  bytes: number;
  /** Documents that had passages before: those that are not among these ids are removed. */
  done: { document: SourceDocument; ids: ReadonlySet<string> }[];
}

interface Course {
  summary: IngestSummary;
  advance: (bytes: number) => void;
  onStored: (passages: readonly EmbeddedPassage[]) => void;
}

/** Stores the documents' passages. What is reported as stored survives a crash, and a second run continues there. */
export async function ingest(
  documents: readonly SourceDocument[],
  options: IngestOptions,
  onStored: Course["onStored"] = () => {},
): Promise<IngestSummary> {
  const summary: IngestSummary = {
    ...{ added: [], changed: [], unchanged: [], empty: [], failed: [] },
    ...{ embedded: 0, reused: 0, unreadable: 0 },
  };
  const total = documents.reduce((sum, { bytes }) => sum + bytes, 0);
  const what = options.dryRun === true ? "Reading documents" : "Storing passages";
  const step = options.progress?.step(what, total, "bytes");
  const startedAt = performance.now();
  let bytes = 0;
  const advance = (more: number): void => {
    bytes += more;
    const rate = summary.embedded / Math.max(0.001, (performance.now() - startedAt) / 1000);
    step?.update(bytes, `${summary.embedded} passages, ${Math.round(rate)}/s`);
  };
  const course = { summary, advance, onStored };
  const batches = toBatches(documents, options, course);
  if (options.dryRun === true) for await (const batch of batches) finish(batch, course);
  else await storeAll(batches, options, course);
  step?.finish(`${summary.embedded} passages of ${documents.length} documents`);
  return summary;
}

/** Ingests one document, replacing its passages in the collection; refuses one without text. */
export async function ingestOne(
  document: SourceDocument,
  options: Omit<IngestOptions, "progress" | "onProblem" | "dryRun" | "always"> & {
    /** Whether the document waited before for what it needs. */
    hasWaited?: boolean;
  },
): Promise<{ passages: number; bytes: number }> {
  const stored = { passages: 0, bytes: 0 };
  const onPlanned = async (passages: number): Promise<void> => {
    if (passages === 0) {
      throw unreadable("holds no text; of a scan or a picture, text comes with OCR");
    }
    await options.onPlanned?.(passages);
  };
  const onStored = (passages: readonly EmbeddedPassage[]): void => {
    stored.passages += passages.length;
    for (const { source, vector } of passages) {
      stored.bytes += Buffer.byteLength(source) + vector.byteLength;
    }
  };
  const { signal, hasWaited = false } = options;
  const engine = await engineFor(options.engine, { signal, hasWaited });
  await ingest([document], { ...options, engine, onPlanned, always: true }, onStored);
  return stored;
}

/** Embeds a batch while the one before is stored. Batches are stored in order: the last one of a document removes its old passages. */
async function storeAll(
  batches: AsyncIterable<Batch>,
  options: IngestOptions,
  course: Course,
): Promise<void> {
  const { repository, signal } = options;
  let storing: Promise<void> = Promise.resolve();
  try {
    for await (const batch of batches) {
      const embedding = embedMissing(batch.passages, options);
      const before = storing;
      storing = (async () => {
        const passages = await embedding;
        await before;
        signal.throwIfAborted();
        // In this order a crash between the two loses nothing; the next run removes what is left over.
        await repository.upsert(passages);
        signal.throwIfAborted();
        for (const { document, ids } of batch.done) await repository.delete(document.name, ids);
        course.onStored(passages);
        finish(batch, course);
        if (batch.passages.some(({ vector }) => vector === undefined)) options.onEmbedded?.();
      })();
      // A failure is reported where the next batch would begin, or at the end.
      storing.catch(() => {});
      await before;
      // Passages whose vectors are known are stored without a wait, and others are to be answered meanwhile.
      await nextTurn();
    }
  } finally {
    // Nothing is stored once this has returned, however it ends.
    await storing.catch(() => {});
  }
  await storing;
}

async function* toBatches(
  documents: readonly SourceDocument[],
  options: IngestOptions,
  { summary, advance }: Course,
): AsyncGenerator<Batch> {
  const all = options.always === true ? undefined : await options.repository.documents();
  const stored = all && new Map(all.map((known) => [known.name, known]));
  const before = ({ name }: SourceDocument): Before =>
    stored === undefined ? "unknown" : stored.get(name);
  let batch = emptyBatch();
  for (const group of groupsOf(documents)) {
    options.signal.throwIfAborted();
    const asked = new Map(group.map((document) => [document, before(document)]));
    const plans = await planDocuments(asked, options);
    for (const document of group) {
      const plan = plans.get(document);
      if (plan === undefined) continue;
      if (plan instanceof NodeError) {
        if (options.onProblem === undefined) throw plan;
        options.onProblem(document.name, plan.message);
      }
      if (plan instanceof NodeError || plan.change === "none") {
        (plan instanceof NodeError ? summary.failed : summary.unchanged).push(document.name);
        advance(document.bytes);
        continue;
      }
      const { count, passages, change, unreadable } = plan;
      await options.onPlanned?.(count);
      const list = count === 0 ? "empty" : change === "new" ? "added" : "changed";
      summary[list].push(document.name);
      summary.unreadable += unreadable;
      const ids = new Set<string>();
      for (const passage of passages) {
        ids.add(passage.id);
        if (passage.vector !== undefined) summary.reused += 1;
        batch.passages.push(passage);
        batch.bytes += document.bytes / count;
        if (batch.passages.length < batchSize) continue;
        yield batch;
        batch = emptyBatch();
      }
      if (change === "changed") batch.done.push({ document, ids });
    }
  }
  if (batch.passages.length > 0 || batch.done.length > 0) yield batch;
}

/** Small documents are planned together: most of their time is the way to the reading process and back. */
function* groupsOf(documents: readonly SourceDocument[]): Generator<SourceDocument[]> {
  let group: SourceDocument[] = [];
  let room = groupBytes;
  for (const document of documents) {
    // 0 may mean that nobody knows.
    const bytes = document.bytes || groupBytes;
    if (group.length === batchSize || (group.length > 0 && bytes > room)) {
      yield group;
      group = [];
      room = groupBytes;
    }
    group.push(document);
    room -= bytes;
  }
  if (group.length > 0) yield group;
}

export async function embedMissing(
  passages: readonly PassageToStore[],
  { engine, documentPrefix, signal }: Pick<PlanOptions, "engine" | "documentPrefix" | "signal">,
): Promise<EmbeddedPassage[]> {
  signal.throwIfAborted();
  const missing = passages.filter(({ vector }) => vector === undefined);
  const texts = missing.map(({ source }) => documentPrefix + source);
  const embeddings = texts.length === 0 ? [] : await engine.embed(texts, { signal });
  const made = new Map(missing.map((passage, at) => [passage, embeddings[at]?.vector]));
  return passages.map((passage) => {
    const vector = passage.vector ?? made.get(passage);
    if (vector === undefined) throw new NodeError("internal", "A passage was not embedded.");
    return { ...passage, vector };
  });
}

function finish({ passages, bytes }: Batch, { summary, advance }: Course): void {
  summary.embedded += passages.filter(({ vector }) => vector === undefined).length;
  advance(bytes);
}

const emptyBatch = (): Batch => ({ passages: [], bytes: 0, done: [] });
