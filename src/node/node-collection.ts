/** The collection of a serving node: opened, filled with the handbook where it is empty, and tried again while its store is away. */
import { setTimeout as sleep } from "node:timers/promises";
import { NodeError, reasonOf } from "../core/errors.ts";
import type { EmbeddingModel } from "../core/models/model.ts";
import type { CollectionStore } from "../core/ports/passage-repository.ts";
import type { Progress } from "../core/progress.ts";
import type { RetrievalBackend, RetrievalService } from "../core/retrieval/retrieval-service.ts";
import type { HandbookPage } from "../ingest/handbook.ts";
import { collectionStore } from "./collection-store.ts";
import { fillWithHandbook } from "./handbook.ts";
import { openConfiguredCollection } from "./open-collection.ts";
import type { StoreOptions } from "./part-options.ts";

export interface NodeCollectionOptions extends StoreOptions {
  /** The pages that an empty collection is filled with. */
  handbook: () => Promise<readonly HandbookPage[]>;
  progress: Progress;
}

/** How often a store that is away is tried again. */
const retryMs = 2000;

export class NodeCollection implements AsyncDisposable {
  readonly #options: NodeCollectionOptions;
  readonly #store: CollectionStore;
  readonly #resources = new AsyncDisposableStack();

  constructor(options: NodeCollectionOptions) {
    this.#options = options;
    this.#store = collectionStore(options);
  }

  /** Opens retrieval; where a server is away, retrieval says so until it is there. */
  async attachTo(
    retrieval: RetrievalService,
    embedding: EmbeddingModel,
    rest: Pick<RetrievalBackend, "reranker">,
    signal: AbortSignal,
  ): Promise<void> {
    const attach = () => this.#attach(retrieval, embedding, rest, signal);
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

  async #attach(
    retrieval: RetrievalService,
    embedding: EmbeddingModel,
    rest: Pick<RetrievalBackend, "reranker">,
    signal: AbortSignal,
  ): Promise<void> {
    const { config, handbook: pages, log, progress } = this.#options;
    const collection = await openConfiguredCollection(this.#store, embedding, this.#options);
    const { repository, prefixes } = collection;
    this.#resources.use(repository);
    if (config.vectorstore.handbook) {
      await fillWithHandbook(embedding, collection, { pages, log, progress, signal });
    }
    retrieval.attach({ repository, queryPrefix: prefixes.queryPrefix, ...rest });
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
}
