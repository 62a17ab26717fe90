/** Opens the documents of a data dir: its registry, its files, and the services on them. */
import { join } from "node:path";
import type { Config } from "../../config/schema.ts";
import { untilAborted } from "../../core/abort.ts";
import { removePending } from "../../core/documents/cleanup.ts";
import type { DocumentQuota } from "../../core/documents/document-caller.ts";
import { createDocuments, type Documents } from "../../core/documents/documents.ts";
import type { IngestFile } from "../../core/documents/ingest-file.ts";
import { KnownFiles } from "../../core/documents/known-files.ts";
import { recoverOrphans } from "../../core/documents/orphans.ts";
import { asNodeError, NodeError } from "../../core/errors.ts";
import { ModelRegistry } from "../../core/models/model-registry.ts";
import type { EmbeddingEngine } from "../../core/ports/embedding-engine.ts";
import type { PassageRepository } from "../../core/ports/passage-repository.ts";
import { RetrievalService } from "../../core/retrieval/retrieval-service.ts";
import { TrustedClock } from "../../core/trusted-clock.ts";
import { handbookLabel } from "../../ingest/handbook.ts";
import { usualSizes } from "../../ingest/passages.ts";
import { ingestOne } from "../../ingest/pipeline.ts";
import { mediaTypeOf } from "../../ingest/readers/detect-format.ts";
import { endingOf } from "../../ingest/readers/formats.ts";
import { ReadingProcess } from "../../ingest/reading-process.ts";
import type { McpDocuments } from "../../mcp/resources.ts";
import { DataDirLock } from "../../store/data-dir-lock.ts";
import { inspectIds } from "../../store/database.ts";
import { DiskFiles } from "../../store/documents/disk-files.ts";
import { documentsFile, sqliteDocuments } from "../../store/documents/sqlite-documents.ts";
import type { Program } from "../../subprocess/program.ts";
import { NodeModels } from "../models/node-models.ts";
import {
  dataDirOf,
  type ModelOptions,
  type StoreOptions,
  toCollection,
  toQuota,
} from "../node-settings.ts";
import { collectionStore, embeddingModelIn, specFor } from "./node-collection.ts";

/** Names in the data dir. */
const documentsLock = "documents.lock";
const filesFolder = "files";

export interface NodeDocumentOptions extends StoreOptions {
  program: Program;
  models: ModelRegistry;
  retrieval: RetrievalService;
  clock: TrustedClock;
  /** The limits of a key, by its id. */
  quotaOf: (owner: string) => Partial<DocumentQuota>;
}

export class NodeDocuments implements AsyncDisposable {
  readonly documents: Documents;
  readonly #resources = new AsyncDisposableStack();
  readonly #ingest: UploadIngest;

  /** Reads and writes nothing until it is used. */
  constructor(options: NodeDocumentOptions) {
    const { config, baseDir, log, program, models, retrieval, clock, quotaOf } = options;
    const folder = dataDirOf(config, baseDir);
    const { max_vector_stores: maxStores, max_queue: maxQueue } = config.documents;
    const { name: ownCollection, embeddingModel } = toCollection(config);
    const model = () => {
      if (embeddingModel === undefined) {
        const why =
          'This node has no embedding model, and a vector store needs one: [[models]] type = "embedding".';
        throw new NodeError("unavailable", why);
      }
      const model = models.embedding(embeddingModel);
      return { name: embeddingModel, maxTokens: model.engine.maxTokens, spec: specFor(model) };
    };
    this.#ingest = this.#resources.use(new UploadIngest({ program, ingest: config.ingest }));
    const registry = this.#resources.use(sqliteDocuments(join(folder, documentsFile), log));
    const ownership = this.#resources.use(
      new DataDirLock(join(folder, documentsLock), "documents"),
    );
    this.documents = this.#resources.use(
      createDocuments({
        ...{ registry, ownership, ownCollection, retrieval, model, quotaOf, log },
        files: new DiskFiles(join(folder, filesFolder)),
        store: collectionStore(options),
        detectType: mediaTypeOf,
        usualChunking: usualSizes,
        ingest: this.#ingest.ingest,
        quota: toQuota(config),
        limits: { maxStores, maxQueue },
        handbook: `${handbookLabel}/`,
        now: () => clock.now(),
        expiryTime: () => clock.expiryTime(),
      }),
    );
  }

  queued(): Promise<number | undefined> {
    return this.documents.queued().catch(() => undefined);
  }

  /** Ingests files in the background until the signal aborts; then dispose of the result. */
  start(engine: EmbeddingEngine, signal: AbortSignal): AsyncDisposable {
    this.#ingest.engine = engine;
    const running = this.documents.run(signal);
    return { [Symbol.asyncDispose]: () => running };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

/** Adds records for uploads that have none; throws while a node owns the documents. */
export async function recoverDocuments({
  config,
  baseDir,
}: Pick<StoreOptions, "config" | "baseDir">) {
  const folder = dataDirOf(config, baseDir);
  using ownership = new DataDirLock(join(folder, documentsLock), "documents");
  ownership.check();
  await using registry = sqliteDocuments(join(folder, documentsFile));
  const files = new KnownFiles(new DiskFiles(join(folder, filesFolder)), registry);
  return await recoverOrphans({ registry, files, detectType: mediaTypeOf, endingOf });
}

/** Deletes what a node has yet to delete of a collection that a command is about to fill; default: the configured one. */
export async function finishRemovals(
  { config, baseDir }: Pick<StoreOptions, "config" | "baseDir">,
  repository: PassageRepository,
  {
    collection = config.vectorstore.collection_name,
    mayBringBack = false,
  }: { collection?: string; mayBringBack?: boolean } = {},
): Promise<void> {
  const folder = dataDirOf(config, baseDir);
  using ownership = new DataDirLock(join(folder, documentsLock), "documents");
  await using registry = sqliteDocuments(join(folder, documentsFile));
  await removePending({ registry, ownership, repository, collection, mayBringBack });
}

/** Inspects uploads and their registry without changing anything. */
export async function inspectDocuments(dataDir: string): Promise<{
  stored: number;
  orphaned: number;
  /** Number of files in the registry, or why it cannot be read; undefined if there is none. */
  known: number | Error | undefined;
  /** Ids of files in the registry whose content is nowhere. */
  missing: readonly string[];
}> {
  const { stored, orphaned } = await new DiskFiles(join(dataDir, filesFolder)).names();
  const counts = { stored: stored.length, orphaned: orphaned.length };
  const known = inspectIds(join(dataDir, documentsFile), "files");
  if (known === undefined || known instanceof Error) return { ...counts, known, missing: [] };
  const there = new Set([...stored, ...orphaned]);
  const missing = known.filter((id) => !there.has(id));
  return { ...counts, known: known.length, missing };
}

/** How long a reading process waits for the next file. */
const idleMs = 30_000;

/** A reading process that waits for the next file of the same owner. */
interface IdleReader {
  owner: string | undefined;
  reading: ReadingProcess;
  end: Timer;
}

/** Ingests uploaded files with the node's embedding model and a reading process that ends when idle. */
export class UploadIngest implements AsyncDisposable {
  /** Embeds passages; undefined until the model is loaded. */
  engine: EmbeddingEngine | undefined;
  readonly #options: { program: Program; ingest: Config["ingest"] };
  #idle: IdleReader | undefined;

  constructor(options: { program: Program; ingest: Config["ingest"] }) {
    this.#options = options;
  }

  readonly ingest: IngestFile = async ({ file, content, document: name, chunking, ...job }) => {
    const { engine } = this;
    if (engine === undefined) {
      throw new NodeError("model_not_ready", "The embedding model is still being prepared.");
    }
    const bytes = new Uint8Array(await content.arrayBuffer());
    const read = async (): Promise<Uint8Array> => bytes;
    const source = { name, origin: "upload", bytes: file.bytes, sha256: file.sha256, read };
    return await ingestOne(source, {
      ...job,
      engine,
      // A smaller model may have been configured since.
      sizes: { ...chunking, maxTokens: Math.min(chunking.maxTokens, engine.maxTokens) },
      cut: (...asked) => this.#reading(file.owner, ({ cut }) => cut(...asked)),
      limits: this.#options.ingest,
    });
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#replaceIdle(undefined);
  }

  /** A process that has read a hostile file may be compromised, so it gets no other owner's files. */
  async #reading<Result>(
    owner: string | undefined,
    work: (reading: ReadingProcess) => Promise<Result>,
  ): Promise<Result> {
    const { program, ingest } = this.#options;
    const idle = this.#idle?.owner === owner ? this.#idle : undefined;
    if (idle !== undefined) this.#idle = undefined;
    clearTimeout(idle?.end);
    const reading = idle?.reading ?? new ReadingProcess({ program, isBackground: true, ...ingest });
    try {
      return await work(reading);
    } finally {
      const end = setTimeout(() => void this.#replaceIdle(undefined), idleMs).unref();
      await this.#replaceIdle({ owner, reading, end });
    }
  }

  async #replaceIdle(next: IdleReader | undefined): Promise<void> {
    const idle = this.#idle;
    this.#idle = next;
    clearTimeout(idle?.end);
    await idle?.reading[Symbol.asyncDispose]();
  }
}

/** `signal` aborts loading. */
type DocumentReaderOptions = ModelOptions & { signal: AbortSignal };

/** Searches and reads the documents of a data dir in this process, whether or not a node is running. */
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
