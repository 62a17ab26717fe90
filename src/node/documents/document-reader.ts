/** Searches and reads the documents of a data dir in this process, whether or not a node is running. */
import { untilAborted } from "../../core/abort.ts";
import { asNodeError, NodeError } from "../../core/errors.ts";
import { ModelRegistry } from "../../core/models/model-registry.ts";
import { RetrievalService } from "../../core/retrieval/retrieval-service.ts";
import { TrustedClock } from "../../core/trusted-clock.ts";
import type { McpDocuments } from "../../mcp/resources.ts";
import { NodeModels } from "../models/node-models.ts";
import { type ModelOptions, toCollection } from "../node-settings.ts";
import { NodeDocuments } from "./node-documents.ts";
import { embeddingModelIn } from "./open-collection.ts";

export interface DocumentReaderOptions extends ModelOptions {
  /** Aborts loading. */
  signal: AbortSignal;
}

export class DocumentReader implements AsyncDisposable {
  readonly #options: DocumentReaderOptions;
  readonly #models: ModelRegistry;
  readonly #retrieval: RetrievalService;
  /** Its queue never runs: only a node ingests files. */
  readonly #documents: NodeDocuments;
  readonly #resources = new AsyncDisposableStack();
  readonly #closing = new AbortController();
  #loading: Promise<void> | undefined;
  #attaching: Promise<void> = Promise.resolve();
  #isAttached = false;

  /** Loads nothing until `documents` is called. */
  constructor(options: DocumentReaderOptions) {
    const { config } = options;
    this.#options = options;
    this.#models = new ModelRegistry(config.models);
    this.#retrieval = new RetrievalService(this.#models, toCollection(config), config.retrieval);
    const parts = { models: this.#models, retrieval: this.#retrieval, quotaOf: () => ({}) };
    const clock = new TrustedClock(options.log);
    this.#documents = this.#resources.use(new NodeDocuments({ ...options, ...parts, clock }));
  }

  /** The services, once the embedding model is loaded; after a failure, the next call tries again. */
  async documents(signal: AbortSignal): Promise<McpDocuments> {
    this.#loading ??= this.#load();
    this.#loading.catch(() => {
      this.#loading = undefined;
    });
    await untilAborted(this.#loading, signal);
    this.#attaching = this.#attaching.then(() => this.#attach());
    await untilAborted(this.#attaching, signal);
    return { ...this.#documents.documents, retrieval: this.#retrieval };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#loading?.catch(() => {});
    await this.#attaching;
    await this.#resources.disposeAsync();
  }

  async #load(): Promise<void> {
    const { config, progress } = this.#options;
    const signal = AbortSignal.any([this.#options.signal, this.#closing.signal]);
    const model = embeddingModelIn(config);
    await using opened = new AsyncDisposableStack();
    const models = opened.use(await NodeModels.openInProcess(this.#options));
    const loading = { progress, signal };
    this.#models.add(await models.load(model, loading));
    const judge = config.models.find(({ name }) => name === config.retrieval.reranker);
    if (judge !== undefined) this.#models.add(await models.load(judge, loading));
    this.#resources.use(opened.move());
  }

  /** The collection may be created while this runs. Never throws: retrieval reports why it is missing. */
  async #attach(): Promise<void> {
    if (this.#isAttached || this.#closing.signal.aborted) return;
    const { name } = this.#retrieval.collection;
    try {
      const lease = await this.#documents.documents.collections.lease(name);
      if (lease === undefined) {
        const why = `There is no collection '${name}' in this data dir yet; 'paddock ingest PATH' makes one.`;
        throw new NodeError("unavailable", why);
      }
      const { repository, prefixes } = lease;
      this.#resources.use(lease);
      this.#retrieval.attach({ repository, queryPrefix: prefixes.queryPrefix });
      this.#isAttached = true;
    } catch (error) {
      this.#retrieval.unavailable(asNodeError(error, "The collection cannot be opened"));
    }
  }
}
