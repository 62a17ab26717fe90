/** Wires up documents over HTTP: files, vector stores, and the queue that ingests files into stores. */
import { reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { DocumentRegistry } from "../ports/document-registry.ts";
import type { FileStore } from "../ports/file-store.ts";
import type { CollectionSpec, CollectionStore } from "../ports/passage-repository.ts";
import { type StoreState, watchStore } from "../readiness.ts";
import type { RetrievalService } from "../retrieval/retrieval-service.ts";
import { cleanUpWith, PassageRemover } from "./cleanup.ts";
import type { DocumentQuota } from "./document-caller.ts";
import { type DetectType, FileService } from "./file-service.ts";
import { type IngestFile, ingestFile } from "./ingest-file.ts";
import { IngestQueue } from "./ingest-queue.ts";
import { KnownFiles } from "./known-files.ts";
import { adoptFilesWith, OpenCollections } from "./open-collections.ts";
import { queueLostWith, reportLostPassages, setOrphansAside } from "./orphans.ts";
import { Quota, type QuotaSettings } from "./quota.ts";
import type { Chunking } from "./records.ts";
import { StoreAccess } from "./store-access.ts";
import { StoreFileService } from "./store-file-service.ts";
import { StoreSearchService } from "./store-search.ts";
import { VectorStoreService } from "./vector-store-service.ts";

export interface DocumentParts {
  registry: DocumentRegistry;
  files: FileStore;
  store: CollectionStore;
  retrieval: RetrievalService;
  /** Whether this process owns the documents: only one may write them. */
  ownership: { take(): boolean; check(): void };
  ownCollection: string;
  /** The model that fills collections; throws if there is none, or it is not ready. */
  model: () => { name: string; maxTokens: number; spec: CollectionSpec };
  usualChunking: (model: { maxTokens: number }) => Chunking;
  detectType: DetectType;
  ingest: IngestFile;
  quota: QuotaSettings;
  quotaOf: (owner: string) => Partial<DocumentQuota>;
  /** Prefix of the handbook's documents, which are removed once a user's documents are there. */
  handbook: string;
  limits: { maxStores: number; maxQueue: number };
  /** How long the registry may take to answer before it counts as hanging. Default: 5000. */
  patienceMs?: number;
  now: () => Date;
  expiryTime: () => Date;
  log: Log;
}

export interface SharedParts extends Omit<DocumentParts, "files"> {
  access: StoreAccess;
  collections: OpenCollections;
  adoptFiles: ReturnType<typeof adoptFilesWith>;
  remover: PassageRemover;
  queue: IngestQueue;
}

export interface Documents extends AsyncDisposable {
  state: StoreState;
  files: FileService;
  stores: VectorStoreService;
  storeFiles: StoreFileService;
  storeSearch: StoreSearchService;
  storeAccess: StoreAccess;
  collections: OpenCollections;
  queued(): Promise<number>;
  run(signal: AbortSignal): Promise<void>;
}

export function createDocuments({ files: stored, ...given }: DocumentParts): Documents {
  const { registry, log, ownership } = given;
  const known = new KnownFiles(stored, registry);
  const parts = { ...given, files: known };
  const collections: OpenCollections = new OpenCollections({
    ...parts,
    spec: () => parts.model().spec,
    onOpen: (name) => queueLost(name),
  });
  const quota = new Quota(registry, parts.quota);
  const remover = new PassageRemover({ ...parts, collections });
  const access = new StoreAccess(parts);
  const adoptFiles = adoptFilesWith(parts, collections, (name) => queueLost(name, { again: true }));
  const files = new FileService(parts, quota, (file) => storeFiles.removeEverywhere(file));
  const queue = new IngestQueue({
    ...{ registry, log },
    ingest: ingestFile({ ...parts, collections, remover, quota }),
    discard: async ({ store, document }) => {
      const collection = (await registry.store(store))?.collection;
      if (collection === undefined) return;
      await registry.addRemoval({ collection, document });
      await remover.tryRemove({ collection, document });
    },
    cleanUp: (signal) => cleanUp(signal),
    isOwned: () => ownership.take(),
  });
  const queueLost = queueLostWith({ ...parts, collections, queue });
  const shared = { ...parts, access, collections, adoptFiles, remover, queue };
  const stores = new VectorStoreService(shared);
  const storeFiles: StoreFileService = new StoreFileService(shared, files);
  const cleanUp = cleanUpWith(shared, files, stores);
  const storeSearch = new StoreSearchService(shared);
  parts.retrieval.searchIn(storeSearch);
  return {
    ...{ files, stores, storeFiles, storeSearch, storeAccess: access, collections },
    queued: () => registry.queued(),
    state: stateOf(parts, known),
    async run(signal) {
      try {
        if (ownership.take()) await setOrphansAside({ registry, files: known, log });
      } catch (error) {
        // The queue tries again; files are set aside only at the start.
        log.error("the documents cannot be changed now", { reason: reasonOf(error) });
      }
      await reportLostPassages(parts);
      await queue.run(signal);
    },
    [Symbol.asyncDispose]: () => collections[Symbol.asyncDispose](),
  };
}

const hanging =
  "The registry of documents does not answer. Check the disk of the data dir, and that no other program keeps documents.sqlite locked.";

const stateOf = ({ registry, patienceMs = 5000 }: DocumentParts, files: KnownFiles) =>
  watchStore(
    async () => {
      await registry.check();
      await files.check();
    },
    { late: hanging, patienceMs },
  );
