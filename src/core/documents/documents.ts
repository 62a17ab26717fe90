/** Documents over HTTP, put together: files, vector stores, and the queue that takes the one into the other. */
import type { Log } from "../log.ts";
import type { DocumentRegistry } from "../ports/document-registry.ts";
import type { FileStore } from "../ports/file-store.ts";
import type { CollectionSpec, CollectionStore } from "../ports/passage-repository.ts";
import type { RetrievalService } from "../retrieval/retrieval-service.ts";
import { Catalogue } from "./catalogue.ts";
import type { DocumentQuota } from "./document-caller.ts";
import { DocumentScopes } from "./document-scopes.ts";
import { FileBatchService } from "./file-batch-service.ts";
import { type DetectType, FileService } from "./file-service.ts";
import { IngestQueue } from "./ingest-queue.ts";
import { OpenCollections } from "./open-collections.ts";
import { setOrphansAside } from "./orphans.ts";
import { PassageRemover } from "./passage-remover.ts";
import { Quota, type QuotaSettings } from "./quota.ts";
import type { Chunking } from "./records.ts";
import { StoreAccess } from "./store-access.ts";
import { StoreFileService } from "./store-file-service.ts";
import { StoreSearchService } from "./store-search-service.ts";
import { type TakeIn, takeFile } from "./take-in.ts";
import { Tidying } from "./tidy.ts";
import { VectorStoreService } from "./vector-store-service.ts";

export interface DocumentParts {
  registry: DocumentRegistry;
  files: FileStore;
  store: CollectionStore;
  retrieval: RetrievalService;
  /** Which process the documents belong to. */
  ownership: { take(): boolean; check(): void };
  /** The name of the node's own collection. */
  ownCollection: string;
  /** The model that fills collections; throws where there is none, or it is not ready. */
  model: () => { name: string; maxTokens: number; spec: CollectionSpec };
  /** How files are cut where nobody says how. */
  usualChunking: (model: { maxTokens: number }) => Chunking;
  detectType: DetectType;
  takeIn: TakeIn;
  quota: QuotaSettings;
  /** The bounds of a key, by its id. */
  quotaOf: (owner: string) => Partial<DocumentQuota>;
  /** What the names of the node's own documents begin with, which make room for a user's. */
  handbook: string;
  limits: { maxStores: number; maxQueue: number };
  now: () => Date;
  /** The time by which things expire. */
  expiryTime: () => Date;
  log: Log;
}

export interface Documents extends AsyncDisposable {
  files: FileService;
  stores: VectorStoreService;
  storeFiles: StoreFileService;
  search: StoreSearchService;
  batches: FileBatchService;
  access: StoreAccess;
  collections: OpenCollections;
  /** How many files wait to be taken in, or are. */
  queued(): Promise<number>;
  /** Takes files in until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export function createDocuments(parts: DocumentParts): Documents {
  const { registry, now, log, model, ownership, limits } = parts;
  const checkOwned = (): void => ownership.check();
  const collections = new OpenCollections({ store: parts.store, spec: () => model().spec, log });
  const quota = new Quota(registry, parts.quota);
  const remover = new PassageRemover({ registry, collections, log });
  const access = new StoreAccess({ ...parts });
  const catalogue = new Catalogue({ registry, now });
  const files = new FileService({
    ...{ registry, quota, now, checkOwned },
    files: parts.files,
    detectType: parts.detectType,
    removePassages: (file) => storeFiles.removeEverywhere(file),
  });
  const queue = new IngestQueue({
    ...{ registry, log },
    takeIn: takeFile({ ...parts, collections, remover, quota }),
    discard: async ({ store, document }) => {
      const collection = (await registry.stores.store(store))?.collection;
      if (collection === undefined) return;
      await registry.queue.addRemoval({ collection, document });
      await remover.tryRemove({ collection, document });
    },
    tidy: () => tidying.run(),
    isOwned: () => ownership.take(),
  });
  const hold = (store: string, file?: string): Promise<Disposable> => queue.hold(store, file);
  const shared = { registry, access, collections, catalogue, remover, hold, checkOwned, now };
  const stores = new VectorStoreService({ ...shared, maxStores: limits.maxStores });
  const storeFiles: StoreFileService = new StoreFileService({
    ...shared,
    files,
    model,
    usualChunking: parts.usualChunking,
    wake: () => queue.wake(),
    waitsFor: (file) => queue.waitsFor(file),
    maxQueue: limits.maxQueue,
  });
  const batches = new FileBatchService({ ...shared, storeFiles });
  const tidying = new Tidying({ ...shared, files, stores, log, expiryTime: parts.expiryTime });
  const scopes = new DocumentScopes(shared);
  parts.retrieval.searchIn(scopes);
  return {
    ...{ files, stores, storeFiles, batches, access, collections },
    search: new StoreSearchService({ registry, access, retrieval: parts.retrieval }),
    queued: () => registry.queue.queued(),
    async run(signal) {
      if (ownership.take()) await setOrphansAside({ registry, files: parts.files, log });
      await queue.run(signal);
    },
    [Symbol.asyncDispose]: () => collections[Symbol.asyncDispose](),
  };
}
