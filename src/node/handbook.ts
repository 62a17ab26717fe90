/** The handbook in a node's collection: an empty one answers questions about the node itself. */
import { reasonOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { EmbeddingEngine } from "../core/ports/embedding-engine.ts";
import type { PassageRepository } from "../core/ports/passage-repository.ts";
import { shareOf } from "../core/progress.ts";
import type { OpenCollection } from "../core/retrieval/collection.ts";
import { type HandbookPage, handbookDocuments, handbookLabel } from "../ingest/handbook.ts";
import { ingest } from "../ingest/pipeline.ts";

export interface HandbookOptions {
  pages: () => Promise<readonly HandbookPage[]>;
  log: Log;
  /** Told how much of it is stored, from 0 to 1. */
  onProgress: (done: number) => void;
  signal: AbortSignal;
}

/** Puts the handbook into a collection of the node's that holds nothing else; renews an older one. */
export async function fillWithHandbook(
  engine: EmbeddingEngine,
  { repository, prefixes }: OpenCollection,
  { pages, log, onProgress, signal }: HandbookOptions,
): Promise<void> {
  // A collection that others made is theirs to fill, and so is one with other documents.
  if ((await repository.describe()).embedding === undefined) return;
  if (!(await holdsHandbookOnly(repository))) return;
  const isEmpty = (await repository.count()) === 0;
  if (isEmpty) log.info("the handbook is being stored; chat is open meanwhile");
  const documents = await handbookDocuments(await pages());
  const ingested = ingest(documents, {
    engine,
    repository,
    documentPrefix: prefixes.documentPrefix,
    // The node serves meanwhile, and a bar would be between the lines of its log.
    progress: shareOf(onProgress),
    signal,
    onProblem: (document, reason) => log.warn("a page was not read", { document, reason }),
  });
  const { embedded } = await ingested.catch((error: unknown) => {
    if (isEmpty || signal.aborted) throw error;
    // An older handbook still answers: the node starts with it.
    log.warn("the handbook cannot be renewed", { reason: reasonOf(error) });
    return { embedded: 0 };
  });
  if (embedded === 0) return;
  // Who stored documents meanwhile removed the handbook from beside them, and so is the rest of it.
  if (!(await hasOnlyPages(repository))) {
    for (const { name } of documents) await repository.delete(name);
    log.info("the handbook made room for documents that were stored meanwhile");
    return;
  }
  log.info("the collection has the handbook", { new_passages: embedded });
}

/** More passages than a handbook has; they need not be looked through. */
const mostPages = 2000;

/** Whether there is nothing else: a handbook that a crash cut short is completed, an older one renewed. */
async function holdsHandbookOnly(repository: PassageRepository): Promise<boolean> {
  if ((await repository.count()) > mostPages) return false;
  return await hasOnlyPages(repository);
}

const hasOnlyPages = async (repository: PassageRepository): Promise<boolean> =>
  (await repository.documents()).every(({ name }) => name.startsWith(`${handbookLabel}/`));
