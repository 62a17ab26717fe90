/** The handbook in a node's collection: an empty one answers questions about the node itself. */
import { reasonOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { EmbeddingModel } from "../core/models/model.ts";
import type { PassageRepository } from "../core/ports/passage-repository.ts";
import { noProgress, type Progress } from "../core/progress.ts";
import type { OpenCollection } from "../core/retrieval/collection.ts";
import { type HandbookPage, handbookDocuments, handbookLabel } from "../ingest/handbook.ts";
import { ingest } from "../ingest/pipeline.ts";

export interface HandbookOptions {
  pages: () => Promise<readonly HandbookPage[]>;
  log: Log;
  progress: Progress;
  signal: AbortSignal;
}

/** Puts the handbook into a collection of the node's that holds nothing else; renews an older one. */
export async function fillWithHandbook(
  { engine }: EmbeddingModel,
  { repository, prefixes }: OpenCollection,
  { pages, log, progress, signal }: HandbookOptions,
): Promise<void> {
  // A collection that others made is theirs to fill, and so is one with other documents.
  if ((await repository.describe()).embedding === undefined) return;
  if (!(await holdsHandbookOnly(repository))) return;
  // Looking through what is there takes a moment, and need not be shown.
  const isEmpty = (await repository.count()) === 0;
  const ingested = ingest(await handbookDocuments(await pages()), {
    engine,
    repository,
    documentPrefix: prefixes.documentPrefix,
    progress: isEmpty ? progress : noProgress,
    signal,
    onProblem: (document, reason) => log.warn("a page was not read", { document, reason }),
  });
  const { embedded } = await ingested.catch((error: unknown) => {
    if (isEmpty || signal.aborted) throw error;
    // An older handbook still answers: the node starts with it.
    log.warn("the handbook cannot be renewed", { reason: reasonOf(error) });
    return { embedded: 0 };
  });
  if (embedded > 0) log.info("the collection has the handbook", { new_passages: embedded });
}

/** More passages than a handbook has; they need not be looked through. */
const mostPages = 2000;

/** Whether there is nothing else: a handbook that a crash cut short is completed, an older one renewed. */
async function holdsHandbookOnly(repository: PassageRepository): Promise<boolean> {
  if ((await repository.count()) > mostPages) return false;
  return (await repository.documents()).every(({ name }) => name.startsWith(`${handbookLabel}/`));
}
