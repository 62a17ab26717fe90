/** The configured collection with its embedding model, for commands, and for the node, which fills it with the handbook. */
import { join } from "node:path";
import type { ModelConfig } from "../../config/model-schema.ts";
import type { Config } from "../../config/schema.ts";
import { pause } from "../../core/abort.ts";
import { asNodeError, NodeError, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { EmbeddingModel } from "../../core/models/model.ts";
import { ModelRegistry } from "../../core/models/model-registry.ts";
import type { EmbeddingEngine } from "../../core/ports/embedding-engine.ts";
import type {
  CollectionSpec,
  CollectionStore,
  PassageRepository,
} from "../../core/ports/passage-repository.ts";
import { shareOf } from "../../core/progress.ts";
import { type OpenCollection, openCollection } from "../../core/retrieval/collection.ts";
import type { RetrievalService } from "../../core/retrieval/retrieval-service.ts";
import { type HandbookPage, handbookDocuments, handbookLabel } from "../../ingest/handbook.ts";
import { ingest } from "../../ingest/pipeline.ts";
import { QdrantCollectionStore } from "../../store/qdrant/qdrant-collections.ts";
import { dryRunStore, SqliteCollectionStore } from "../../store/sqlite/sqlite-collections.ts";
import { NodeModels } from "../models/node-models.ts";
import { dataDirOf, type ModelOptions, type StoreOptions, toCollection } from "../node-settings.ts";

/** Opens the configured collection in a store, or creates it. */
function openConfiguredCollection(
  store: CollectionStore,
  embedding: EmbeddingModel,
  { config, log }: Pick<StoreOptions, "config" | "log">,
): Promise<OpenCollection> {
  return openCollection(store, config.vectorstore.collection_name, specFor(embedding), log);
}

/** What a collection must be like that the model fills. */
export const specFor = ({ engine, identity }: EmbeddingModel): CollectionSpec => ({
  dimension: engine.dimension,
  embedding: identity,
});

/** Opens the collection with the model that fills it, until it is disposed of. `create` false: the store is not changed; a missing collection is an empty one in memory. */
export async function openCollectionToFill(
  options: ModelOptions,
  signal: AbortSignal,
  { create = true } = {},
): Promise<OpenCollection & AsyncDisposable & { embedding: EmbeddingModel }> {
  await using resources = new AsyncDisposableStack();
  const { embedding } = resources.use(await openEmbeddingModel(options, signal));
  const configured = collectionStore(options);
  const store = create ? configured : dryRunStore(configured);
  const collection = await openConfiguredCollection(store, embedding, options);
  resources.use(collection.repository);
  const owned = resources.move();
  return { ...collection, embedding, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The store at an address; default: the configured one. */
export function collectionStore(
  { config, baseDir, log }: StoreOptions,
  url = config.vectorstore.url,
): CollectionStore {
  if (url === "embedded") {
    return new SqliteCollectionStore(join(dataDirOf(config, baseDir), "collections"), log);
  }
  const { url: configured, api_key: key, timeout } = config.vectorstore;
  // Never send one server's key to another.
  const apiKey = configured === url || configured === "embedded" ? key : undefined;
  return new QdrantCollectionStore({ url, timeoutMs: timeout * 1000, ...given({ apiKey }) }, log);
}

/** Loads only the model that fills the collection, or the named one, into this process, until it is disposed of. */
export async function openEmbeddingModel(
  options: ModelOptions,
  signal: AbortSignal,
  name?: string,
): Promise<AsyncDisposable & { embedding: EmbeddingModel }> {
  const { config, progress } = options;
  const model = embeddingModelIn(config, name);
  await using resources = new AsyncDisposableStack();
  const nodeModels = resources.use(await NodeModels.openInProcess(options));
  const registry = new ModelRegistry([model]);
  registry.add(await nodeModels.load(model, { progress, signal }));
  const embedding = registry.embedding(model.name);
  const owned = resources.move();
  return { embedding, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Default: the model that fills the collection. */
export function embeddingModelIn(
  config: Config,
  name = toCollection(config).embeddingModel,
): ModelConfig {
  const models = config.models.filter(({ type }) => type === "embedding");
  const model = models.find((candidate) => candidate.name === name);
  if (model !== undefined) return model;
  if (models.length === 0) {
    const needed = 'a collection needs one: [[models]] type = "embedding"';
    throw new NodeError("unavailable", `No embedding model is configured; ${needed}.`);
  }
  const names = models.map((each) => each.name).join(", ");
  const why = `There is no embedding model '${name}' in the configuration (${names}).`;
  throw new NodeError("invalid_request", why);
}

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

/** The node's collection. */
export class NodeCollection implements AsyncDisposable {
  readonly #parts: CollectionParts;
  readonly #resources = new AsyncDisposableStack();
  #filling: Promise<void> = Promise.resolve();

  constructor(parts: CollectionParts) {
    this.#parts = parts;
  }

  /** Opens the collection for retrieval; while its server is unavailable, or its disk full, retrieval reports so. */
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
    retrieval.coming.expect(passagesComing(0));
    this.#filling = this.#fill(collection).finally(() => retrieval.coming.expect(undefined));
  }

  /** Stores the handbook. If it is interrupted, the next start continues. */
  async #fill(collection: OpenCollection): Promise<void> {
    const { log, signal } = this.#parts;
    let said: string | undefined;
    while (!signal.aborted) {
      try {
        await fillWithHandbook(collection, this.#parts);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const reason = reasonOf(error);
        if (reason !== said) log.warn("the handbook cannot be stored", { reason });
        said = reason;
        if (!this.#mayComeBack(error)) return;
        await pause(retryMs, signal);
      }
    }
  }

  /** A server may be unavailable for a while, and a disk full; a local file that cannot be opened otherwise is an error. */
  #mayComeBack(error: unknown): error is NodeError {
    const { url } = this.#parts.config.vectorstore;
    if (!(error instanceof NodeError) || error.kind !== "unavailable") return false;
    return url !== "embedded" || error.retryAfterMs !== undefined;
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
    progress: shareOf((done) => retrieval.coming.expect(passagesComing(done))),
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
