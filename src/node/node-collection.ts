/** The collection of a node: opened, filled with the handbook where it is empty, and tried again while its store is away. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../config/schema.ts";
import { NodeError, reasonOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { EmbeddingModel } from "../core/models/model.ts";
import type { CollectionStore, PassageRepository } from "../core/ports/passage-repository.ts";
import { noProgress, type Progress } from "../core/progress.ts";
import { type OpenCollection, openCollection } from "../core/retrieval/collection.ts";
import type { Knowledge, RetrievalService } from "../core/retrieval/retrieval-service.ts";
import { type HandbookPage, handbookDocuments, handbookLabel } from "../ingest/handbook.ts";
import { ingest } from "../ingest/pipeline.ts";

export interface NodeCollectionOptions {
  config: Config;
  store: CollectionStore;
  /** The pages that an empty collection is filled with. */
  handbook: () => Promise<readonly HandbookPage[]>;
  log: Log;
  progress: Progress;
}

export class NodeCollection implements AsyncDisposable {
  readonly #options: NodeCollectionOptions;
  readonly #resources = new AsyncDisposableStack();

  constructor(options: NodeCollectionOptions) {
    this.#options = options;
  }

  async open({ engine, identity }: EmbeddingModel): Promise<OpenCollection> {
    const { config, store, log } = this.#options;
    const open = await openCollection(
      store,
      config.vectorstore.collection_name,
      { dimension: engine.dimension, embedding: identity },
      log,
    );
    this.#resources.use(open.repository);
    return open;
  }

  /** Opens retrieval; where a server is away, retrieval says so until it is there. */
  async attachTo(
    retrieval: RetrievalService,
    embedding: EmbeddingModel,
    rest: Pick<Knowledge, "reranker">,
    signal: AbortSignal,
  ): Promise<void> {
    const attach = async (): Promise<void> => {
      const { repository, prefixes } = await this.open(embedding);
      await this.#fillWithHandbook(embedding, { repository, prefixes }, signal);
      retrieval.attach({ repository, queryPrefix: prefixes.queryPrefix, ...rest });
    };
    try {
      await attach();
    } catch (error) {
      if (!this.#mayComeBack(error)) throw error;
      this.#serveWithout(retrieval, error);
      void this.#keepTrying(retrieval, attach, error.message, signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }

  /** A server may be away for a while; a file on this machine that cannot be opened is a failure. */
  #mayComeBack(error: unknown): error is NodeError {
    const { url } = this.#options.config.vectorstore;
    return url !== "embedded" && error instanceof NodeError && error.kind === "unavailable";
  }

  #serveWithout(retrieval: RetrievalService, error: NodeError): void {
    retrieval.unavailable(error);
    this.#options.log.warn("there is no collection now; the node serves without it", {
      reason: error.message,
    });
  }

  /** Until the collection is there; what is in the way is said whenever it changes. */
  async #keepTrying(
    retrieval: RetrievalService,
    attach: () => Promise<void>,
    said: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { log } = this.#options;
    let last = said;
    while (!signal.aborted) {
      // Ended early when the node stops.
      await sleep(retryMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      try {
        await attach();
        log.info("the collection can be reached now");
        return;
      } catch (error) {
        const known =
          error instanceof NodeError
            ? error
            : new NodeError("unavailable", `The collection cannot be opened: ${reasonOf(error)}`);
        if (known.message !== last) this.#serveWithout(retrieval, known);
        last = known.message;
      }
    }
  }

  async #fillWithHandbook(
    { engine }: EmbeddingModel,
    { repository, prefixes }: OpenCollection,
    signal: AbortSignal,
  ): Promise<void> {
    const { config, handbook, progress, log } = this.#options;
    if (!config.vectorstore.handbook) return;
    // A collection that others made is theirs to fill, and so is one with other documents.
    if ((await repository.describe()).embedding === undefined) return;
    if (!(await holdsHandbookOnly(repository))) return;
    // What is there is looked through in a moment, and need not be shown.
    const isEmpty = (await repository.count()) === 0;
    const ingested = ingest(await handbookDocuments(await handbook()), {
      engine,
      repository,
      documentPrefix: prefixes.documentPrefix,
      progress: isEmpty ? progress : noProgress,
      signal,
      onProblem: (document, reason) => log.warn("a page was not read", { document, reason }),
    });
    const { embedded } = await ingested.catch((error: unknown) => {
      if (isEmpty || signal.aborted) throw error;
      // A collection that answers is more than one that is up to date.
      log.warn("the handbook cannot be renewed", { reason: reasonOf(error) });
      return { embedded: 0 };
    });
    if (embedded > 0) log.info("the collection has the handbook", { new_passages: embedded });
  }
}

/** More passages than a handbook has; they need not be looked through. */
const mostPages = 2000;

/** Whether there is nothing else: a handbook that a crash cut short is gone on with, an older one renewed. */
async function holdsHandbookOnly(repository: PassageRepository): Promise<boolean> {
  if ((await repository.count()) > mostPages) return false;
  return (await repository.documents()).every(({ name }) => name.startsWith(`${handbookLabel}/`));
}

/** How often a store that is away is tried again. */
const retryMs = 2000;
