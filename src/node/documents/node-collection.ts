/** The node's collection: opens it, retries while its store is unavailable, and stores the handbook in the background. */
import { pause } from "../../core/abort.ts";
import { asNodeError, NodeError, reasonOf } from "../../core/errors.ts";
import type { EmbeddingModel } from "../../core/models/model.ts";
import type { EmbeddingEngine } from "../../core/ports/embedding-engine.ts";
import type { PassageRepository } from "../../core/ports/passage-repository.ts";
import { shareOf } from "../../core/progress.ts";
import type { OpenCollection } from "../../core/retrieval/collection.ts";
import type { RetrievalService } from "../../core/retrieval/retrieval-service.ts";
import { type HandbookPage, handbookDocuments, handbookLabel } from "../../ingest/handbook.ts";
import { ingest } from "../../ingest/pipeline.ts";
import type { StoreOptions } from "../node-settings.ts";
import { collectionStore, openConfiguredCollection } from "./open-collection.ts";

export interface NodeCollectionOptions extends StoreOptions {
  /** The pages to store in an empty collection. */
  handbook: () => Promise<readonly HandbookPage[]>;
}

export interface CollectionParts extends NodeCollectionOptions {
  retrieval: RetrievalService;
  embedding: EmbeddingModel;
  /** Embeds passages in the background. */
  fillingEngine: EmbeddingEngine;
  /** Called once the collection is open. */
  onOpen: (collection: OpenCollection) => Promise<void>;
  /** Aborted when the node stops. */
  signal: AbortSignal;
}

/** How often to retry a store that is unavailable. */
const retryMs = 2000;

/** Reported until the handbook is stored. */
const passagesComing = (done: number): string =>
  `The handbook is being stored (${Math.floor(done * 100)} %): passages are still coming, and what is found is not all that there will be.`;

export class NodeCollection implements AsyncDisposable {
  readonly #parts: CollectionParts;
  readonly #resources = new AsyncDisposableStack();
  #filling: Promise<void> = Promise.resolve();

  constructor(parts: CollectionParts) {
    this.#parts = parts;
  }

  /** Opens the collection for retrieval; while its server is unavailable, retrieval reports so. */
  async open(): Promise<void> {
    try {
      await this.#attach();
    } catch (error) {
      if (!this.#mayComeBack(error)) throw error;
      this.#serveWithout(error);
      void this.#keepTrying(error.message);
    }
  }

  /** Abort the signal first: this waits for the handbook to be stored. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#filling;
    await this.#resources.disposeAsync();
  }

  async #attach(): Promise<void> {
    const { retrieval, embedding, onOpen, config } = this.#parts;
    const store = collectionStore(this.#parts);
    const collection = await openConfiguredCollection(store, embedding, this.#parts);
    const { repository, prefixes } = collection;
    this.#resources.use(repository);
    await onOpen(collection);
    retrieval.attach({ repository, queryPrefix: prefixes.queryPrefix });
    if (!config.vectorstore.handbook) return;
    retrieval.expectPassages(passagesComing(0));
    this.#filling = this.#fill(collection).finally(() => retrieval.expectPassages(undefined));
  }

  /** Stores the handbook. If it is interrupted, the next start continues. */
  async #fill(collection: OpenCollection): Promise<void> {
    const { log, signal } = this.#parts;
    while (!signal.aborted) {
      try {
        await fillWithHandbook(collection, this.#parts);
        return;
      } catch (error) {
        if (signal.aborted) return;
        log.warn("the handbook cannot be stored", { reason: reasonOf(error) });
        if (!this.#mayComeBack(error)) return;
        await pause(retryMs, signal);
      }
    }
  }

  /** A server may be unavailable for a while; a local file that cannot be opened is an error. */
  #mayComeBack(error: unknown): error is NodeError {
    const { url } = this.#parts.config.vectorstore;
    return url !== "embedded" && error instanceof NodeError && error.kind === "unavailable";
  }

  #serveWithout(error: NodeError): void {
    const { retrieval, log } = this.#parts;
    retrieval.unavailable(error);
    log.warn("there is no collection now; the node serves without it", { reason: error.message });
  }

  /** Retries until the collection is open; logs the reason whenever it changes. */
  async #keepTrying(said: string): Promise<void> {
    const { log, signal } = this.#parts;
    let last = said;
    while (!signal.aborted) {
      await pause(retryMs, signal);
      if (signal.aborted) return;
      try {
        await this.#attach();
        log.info("the collection can be reached now");
        return;
      } catch (error) {
        const known = asNodeError(error, "The collection cannot be opened");
        if (known.message !== last) this.#serveWithout(known);
        last = known.message;
      }
    }
  }
}

/** Stores the handbook in a collection of the node that holds nothing else; updates an older one. */
async function fillWithHandbook(
  { repository, prefixes }: OpenCollection,
  { fillingEngine: engine, handbook, retrieval, log, signal }: CollectionParts,
): Promise<void> {
  // Leave collections alone that others created, or that hold other documents.
  if ((await repository.describe()).embedding === undefined) return;
  if ((await repository.count()) > mostPages || !(await hasOnlyPages(repository))) return;
  const isEmpty = (await repository.count()) === 0;
  if (isEmpty) log.info("the handbook is being stored; chat is open meanwhile");
  const documents = await handbookDocuments(await handbook());
  const ingested = ingest(documents, {
    engine,
    repository,
    documentPrefix: prefixes.documentPrefix,
    // The node serves meanwhile, and a progress bar would break up its log.
    progress: shareOf((done) => retrieval.expectPassages(passagesComing(done))),
    signal,
    onProblem: (document, reason) => log.warn("a page was not read", { document, reason }),
  });
  const { embedded } = await ingested.catch((error: unknown) => {
    if (isEmpty || signal.aborted) throw error;
    // An older handbook still works: the node starts with it.
    log.warn("the handbook cannot be renewed", { reason: reasonOf(error) });
    return { embedded: 0 };
  });
  if (embedded === 0) return;
  // Documents that were stored meanwhile replaced the handbook, so the rest of it is removed too.
  if (!(await hasOnlyPages(repository))) {
    for (const { name } of documents) await repository.delete(name);
    log.info("the handbook made room for documents that were stored meanwhile");
    return;
  }
  log.info("the collection has the handbook", { new_passages: embedded });
}

/** More passages than any handbook has; a larger collection need not be read. */
const mostPages = 2000;

/** Whether there is nothing else: an incomplete handbook is completed, an older one updated. */
const hasOnlyPages = async (repository: PassageRepository): Promise<boolean> =>
  (await repository.documents()).every(({ name }) => name.startsWith(`${handbookLabel}/`));
