/** The services for documents, on a real registry, real files and real collections in a folder; the queue runs where it is started. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDocuments, type Documents } from "../../src/core/documents/documents.ts";
import type { QuotaSettings } from "../../src/core/documents/quota.ts";
import { given } from "../../src/core/given.ts";
import type { Log } from "../../src/core/log.ts";
import type { ModelRegistry } from "../../src/core/models/model-registry.ts";
import type { DocumentRegistry } from "../../src/core/ports/document-registry.ts";
import type { RetrievalService } from "../../src/core/retrieval/retrieval-service.ts";
import { ingestOne } from "../../src/ingest/pipeline.ts";
import { mediaTypeOf } from "../../src/ingest/readers/detect-format.ts";
import { DiskFiles } from "../../src/store/documents/disk-files.ts";
import { sqliteDocuments } from "../../src/store/documents/sqlite-documents.ts";
import { SqliteCollectionStore } from "../../src/store/sqlite/sqlite-collections.ts";
import { replaceable } from "./replaceable.ts";
import { silentLog } from "./silence.ts";

export interface TestDocumentOptions {
  /** Where they are; default: a folder that comes into being with the first of them. */
  folder?: string;
  quota?: { [Whose in keyof QuotaSettings]?: Partial<QuotaSettings[Whose]> };
  quotaOf?: (owner: string) => { bytes?: number; passages?: number };
  maxStores?: number;
  maxQueue?: number;
  now?: () => Date;
  log?: Log;
  /** How long the registry may take to answer; default: as for a node. */
  patienceMs?: number;
  /** Whether this process may change them; throws where the lock cannot be had. Default: it may. */
  owns?: () => boolean;
  /** What a file waits for before it is ingested. */
  beforeIngest?: (filename: string, signal: AbortSignal) => Promise<void>;
}

export interface TestDocuments {
  documents: Documents;
  registry: DocumentRegistry & AsyncDisposable;
}

const unbounded = { bytes: 0, files: 0, passages: 0 };

export function testDocuments(
  { models, retrieval }: { models: ModelRegistry; retrieval: RetrievalService },
  options: TestDocumentOptions = {},
): TestDocuments {
  const folder = options.folder ?? join(tmpdir(), `paddock-test-${crypto.randomUUID()}`);
  const registry = replaceable(sqliteDocuments(join(folder, "documents.sqlite")));
  const engine = () => models.embedding("vectors").engine;
  const documents = createDocuments({
    registry,
    retrieval,
    files: new DiskFiles(join(folder, "files")),
    store: new SqliteCollectionStore(join(folder, "collections"), silentLog),
    ownership: { take: options.owns ?? (() => true), check: () => {} },
    ownCollection: "default",
    model: () => {
      const { identity } = models.embedding("vectors");
      const { dimension, maxTokens } = engine();
      return { name: "vectors", maxTokens, spec: { dimension, embedding: identity } };
    },
    usualChunking: ({ maxTokens }) => ({ maxTokens, overlapTokens: 0 }),
    detectType: mediaTypeOf,
    ingest: async ({ file, content, document: name, chunking: sizes, ...job }) => {
      await options.beforeIngest?.(file.filename, job.signal);
      const bytes = new Uint8Array(await content.arrayBuffer());
      const source = { name, origin: "upload", bytes: bytes.length, read: async () => bytes };
      // Read in this process, since it was written by the test.
      return await ingestOne(source, { ...job, engine: engine(), sizes });
    },
    quota: {
      node: { ...unbounded, ...options.quota?.node },
      caller: { ...unbounded, ...options.quota?.caller },
    },
    quotaOf: options.quotaOf ?? (() => ({})),
    handbook: "paddock:handbook/",
    limits: { maxStores: options.maxStores ?? 100, maxQueue: options.maxQueue ?? 100 },
    now: options.now ?? (() => new Date()),
    expiryTime: options.now ?? (() => new Date()),
    log: options.log ?? silentLog,
    ...given({ patienceMs: options.patienceMs }),
  });
  return { documents, registry };
}
