/** Documents over HTTP: the registry and the files of a data dir, and the services on them. */
import { join } from "node:path";
import type { DocumentQuota } from "../../core/documents/document-caller.ts";
import { createDocuments, type Documents } from "../../core/documents/documents.ts";
import { recoverOrphans } from "../../core/documents/orphans.ts";
import { NodeError } from "../../core/errors.ts";
import type { ModelRegistry } from "../../core/models/model-registry.ts";
import type { EmbeddingEngine } from "../../core/ports/embedding-engine.ts";
import type { RetrievalService } from "../../core/retrieval/retrieval-service.ts";
import type { TrustedClock } from "../../core/trusted-clock.ts";
import { handbookLabel } from "../../ingest/handbook.ts";
import { usualSizes } from "../../ingest/passages.ts";
import { mediaTypeOf } from "../../ingest/readers/detect-format.ts";
import { endingOf } from "../../ingest/readers/formats.ts";
import { DataDirLock } from "../../store/data-dir-lock.ts";
import { DiskFiles } from "../../store/documents/disk-files.ts";
import {
  documentsFile,
  inspectRegistry,
  SqliteDocuments,
} from "../../store/documents/sqlite-documents.ts";
import type { Program } from "../../subprocess/program.ts";
import {
  dataDirOf,
  type StoreOptions,
  toCollection,
  toDocumentLimits,
  toQuota,
} from "../node-settings.ts";
import { collectionStore } from "./open-collection.ts";
import { UploadIngest } from "./upload-ingest.ts";

/** Their names in the data dir. */
const documentsLock = "documents.lock";
const filesFolder = "files";

export interface NodeDocumentOptions extends StoreOptions {
  program: Program;
  models: ModelRegistry;
  retrieval: RetrievalService;
  clock: TrustedClock;
  /** The bounds of a key, by its id. */
  quotaOf: (owner: string) => Partial<DocumentQuota>;
}

export class NodeDocuments implements AsyncDisposable {
  readonly documents: Documents;
  readonly #resources = new AsyncDisposableStack();
  readonly #ingest: UploadIngest;

  /** Nothing is read or written before it is asked for. */
  constructor(options: NodeDocumentOptions) {
    const { config, baseDir, log, program, models, retrieval, clock, quotaOf } = options;
    const folder = dataDirOf(config, baseDir);
    const { name: ownCollection, embeddingModel } = toCollection(config);
    const model = () => {
      if (embeddingModel === undefined) throw noModel();
      const { engine, identity } = models.embedding(embeddingModel);
      const spec = { dimension: engine.dimension, embedding: identity };
      return { name: embeddingModel, maxTokens: engine.maxTokens, spec };
    };
    this.#ingest = this.#resources.use(new UploadIngest({ program, ingest: config.ingest }));
    const registry = this.#resources.use(new SqliteDocuments(join(folder, documentsFile)));
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
        limits: toDocumentLimits(config),
        handbook: `${handbookLabel}/`,
        now: () => new Date(),
        expiryTime: () => clock.expiryTime(),
      }),
    );
  }

  /** How many files wait to be ingested; undefined where the registry cannot be read. */
  queued(): Promise<number | undefined> {
    return this.documents.queued().catch(() => undefined);
  }

  /** Ingests files in the background until the signal aborts; dispose of it afterwards. */
  start(engine: EmbeddingEngine, signal: AbortSignal): AsyncDisposable {
    this.#ingest.engine = engine;
    const running = this.documents.run(signal);
    return { [Symbol.asyncDispose]: () => running };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

/** Makes files of the uploads that the registry does not know; refuses while a node has the documents. */
export async function recoverDocuments({
  config,
  baseDir,
}: Pick<StoreOptions, "config" | "baseDir">) {
  const folder = dataDirOf(config, baseDir);
  using ownership = new DataDirLock(join(folder, documentsLock), "documents");
  ownership.check();
  await using registry = new SqliteDocuments(join(folder, documentsFile));
  const files = new DiskFiles(join(folder, filesFolder));
  return await recoverOrphans({ registry, files, detectType: mediaTypeOf, endingOf });
}

/** What there is of uploads and their registry, looked at without changing anything. */
export async function inspectDocuments(dataDir: string): Promise<{
  stored: number;
  orphaned: number;
  /** How many files the registry knows, or why it cannot be read; undefined where there is none. */
  known: number | Error | undefined;
}> {
  const { stored, orphaned } = await new DiskFiles(join(dataDir, filesFolder)).names();
  const counts = { stored: stored.length, orphaned: orphaned.length };
  return { ...counts, known: inspectRegistry(join(dataDir, documentsFile)) };
}

const noModel = (): NodeError =>
  new NodeError(
    "unavailable",
    'This node has no embedding model, and a vector store needs one: [[models]] type = "embedding".',
  );
