/** The app on scripted engines and an in-memory store, for tests of the wire. */

import { ChatService } from "../../src/core/chat/chat-service.ts";
import { GroundingService } from "../../src/core/chat/grounding.ts";
import { ImageFiles } from "../../src/core/chat/images.ts";
import type { RagSettings } from "../../src/core/chat/rag.ts";
import type { Documents } from "../../src/core/documents/documents.ts";
import type { KeyRing } from "../../src/core/limits/api-key.ts";
import { type CallerLimits, noLimits, RateLimiter } from "../../src/core/limits/rate-limiter.ts";
import { ModelActivities } from "../../src/core/models/model-activity.ts";
import type { ModelLibrary } from "../../src/core/models/model-library.ts";
import { ModelRegistry } from "../../src/core/models/model-registry.ts";
import type { DocumentRegistry } from "../../src/core/ports/document-registry.ts";
import type { Limiter } from "../../src/core/ports/limiter.ts";
import { checkReadiness, type ReadinessParts } from "../../src/core/readiness.ts";
import {
  RetrievalService,
  type RetrievalSettings,
} from "../../src/core/retrieval/retrieval-service.ts";
import { mcpEndpoint } from "../../src/node/paddock-node.ts";
import { createApp } from "../../src/server/app.ts";
import { Connections } from "../../src/server/listen.ts";
import { keyAccess, withoutGuessing } from "../../src/server/middleware/authentication.ts";
import type { SqliteRepository } from "../../src/store/sqlite/sqlite-repository.ts";
import {
  createMetrics,
  type Metrics,
  type MetricsSources,
  type RequestWatcher,
} from "../../src/telemetry/metrics.ts";
import { type LogLine, recordingLog } from "./recording-log.ts";
import {
  ScriptedChatEngine,
  ScriptedEmbeddingEngine,
  ScriptedReranker,
} from "./scripted-engines.ts";
import { type TestDocumentOptions, testDocuments } from "./test-documents.ts";
import {
  card,
  chatModel,
  embeddingModel,
  memoryRepository,
  rerankingModel,
} from "./test-models.ts";
import { type TestResponseOptions, type TestResponses, testResponses } from "./test-responses.ts";

export interface TestApp {
  chat: ScriptedChatEngine;
  embedding: ScriptedEmbeddingEngine;
  reranker: ScriptedReranker;
  repository: SqliteRepository;
  models: ModelRegistry;
  retrieval: RetrievalService;
  telemetry: Metrics;
  documents: Documents;
  registry: DocumentRegistry & AsyncDisposable;
  responses: TestResponses;
  log: LogLine[];
  /** What a server would say of a request's connection. */
  connections: Connections;
  handle(request: Request): Promise<Response>;
  /** Sends a JSON body. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
}

export interface TestAppOptions {
  keys?: readonly string[];
  /** Keys that were given out. */
  ring?: KeyRing;
  /** Address of the vector store. */
  storeUrl?: string;
  callerLimits?: Partial<CallerLimits>;
  connectionsPerClient?: number;
  sharePrefixes?: boolean;
  /** Who holds callers to their limits; default: the app alone. */
  limiter?: Limiter;
  /** What it shares with other nodes; default: nothing. */
  shared?: {
    numbers: NonNullable<MetricsSources["shared"]>;
    report: NonNullable<ReadinessParts["keys"]>;
  };
  /** The clock of the limits; default: the real one. */
  now?: () => number;
  maxBodyBytes?: number;
  bodyTimeoutMs?: number;
  maxFileBytes?: number;
  maxImageBytes?: number;
  maxMessages?: number;
  maxInputs?: number;
  requestTimeoutMs?: number;
  stallTimeoutMs?: number;
  stopping?: AbortSignal;
  logPrompts?: boolean;
  corsOrigins?: readonly string[];
  /** Whether it serves everyone without keys. */
  open?: boolean;
  looksLikeOllama?: boolean;
  /** Absent: hosts are not checked. */
  allowedHosts?: readonly string[];
  /** Whether it was asked to stop. */
  draining?: boolean;
  /** Whether the chat model reads images. */
  vision?: boolean;
  /** What would be better than the chat model. */
  advice?: string;
  /** What is still being made in the background. */
  coming?: readonly string[];
  /** Leaves the models and the collection unprepared. */
  unprepared?: boolean;
  /** Embedding models beside those that every app has. */
  moreModels?: readonly string[];
  /** Whether it has a reranking model, `judge`. */
  reranks?: boolean;
  nPredict?: number;
  retrieval?: Partial<RetrievalSettings>;
  rag?: Partial<RagSettings>;
  /** How many answers the chat model gives at the same time, and how many requests may wait. */
  slots?: number;
  maxQueue?: number;
  metricsOpen?: boolean;
  watchers?: readonly RequestWatcher[];
  documents?: TestDocumentOptions;
  responses?: TestResponseOptions;
  /** What it does with the models folder; default: the folder is empty. */
  library?: Partial<ModelLibrary>;
}

/** A models folder without models. */
export const noLibrary: ModelLibrary = {
  refresh: async () => {},
  pull: async () => undefined,
  cancelPull: () => false,
  pulling: () => undefined,
  pulledFrom: async () => undefined,
  mayRemove: () => false,
  remove: async () => 0,
  memory: async () => ({ total: 8e9, free: 4e9 }),
};

export function testApp(options: TestAppOptions = {}): TestApp {
  const chat = new ScriptedChatEngine();
  const embedding = new ScriptedEmbeddingEngine();
  const reranker = new ScriptedReranker();
  const configured = [
    { name: "chatty", type: "chat" },
    { name: "vectors", type: "embedding" },
    ...(options.reranks === true ? [{ name: "judge", type: "reranker" } as const] : []),
    ...["others", ...(options.moreModels ?? [])].map(
      (name) => ({ name, type: "embedding" }) as const,
    ),
  ] as const;
  const models = new ModelRegistry(configured);
  const activities = new ModelActivities([
    { name: "chatty", slots: options.slots ?? 2, maxQueue: options.maxQueue ?? 8 },
    { name: "vectors" },
    ...(options.reranks === true ? [{ name: "judge" }] : []),
    { name: "others" },
  ]);
  const retrieval = new RetrievalService(
    models,
    {
      name: "default",
      embeddingModel: "vectors",
      url: options.storeUrl ?? "embedded",
      bounds: { limit: 5, scoreThreshold: 0.4 },
    },
    { mode: "dense", candidates: 50, ...options.retrieval },
  );
  const repository = memoryRepository(2);
  if (options.unprepared !== true) {
    const chatCard = card("chatty", "chat");
    chatCard.settings.nPredict = options.nPredict ?? -1;
    if (options.advice !== undefined) chatCard.advice = options.advice;
    if (options.vision !== undefined) chatCard.vision = options.vision;
    models.add(activities.measured(chatModel("chatty", chat, chatCard)));
    for (const name of ["vectors", "others", ...(options.moreModels ?? [])]) {
      models.add(activities.measured(embeddingModel(name, embedding)));
    }
    if (options.reranks === true) {
      models.add(activities.measured(rerankingModel("judge", reranker)));
    }
    retrieval.attach({ repository, queryPrefix: "" });
  }
  const { documents, registry } = testDocuments({ models, retrieval }, options.documents);
  const { log, lines } = recordingLog();
  const responses = testResponses({ log, ...options.responses });
  const isDraining = (): boolean => options.draining ?? false;
  const parts = {
    models,
    activities,
    retrieval,
    documents: documents.state,
    responses: responses.responses.state,
    coming: new Map(options.coming?.map((notice, at) => [`${at}`, notice])),
    isDraining,
    ...(options.shared === undefined ? {} : { keys: options.shared.report }),
  };
  const metrics = createMetrics({
    models: configured.map((model) => ({ ...model, place: "local" })),
    activities: () => activities.all(),
    build: () => ({ version: "1.2.3", engine: "llama.cpp v9 (test)" }),
    isReady: async () => (await checkReadiness(parts)).problems.length === 0,
    documentsQueued: () => documents.queued(),
    ...(options.shared === undefined ? {} : { shared: options.shared.numbers }),
  });
  metrics.watchers.push(...(options.watchers ?? []));
  const connections = new Connections();
  // By a clock that stands: nothing is refilled while a busy machine takes its time.
  const limits = new RateLimiter(options.now ?? (() => 0));
  const requestLimits = {
    maxBodyBytes: options.maxBodyBytes ?? 1 << 20,
    bodyTimeoutMs: options.bodyTimeoutMs ?? 30_000,
    maxFileBytes: options.maxFileBytes ?? 1 << 20,
    maxImageBytes: options.maxImageBytes ?? 1 << 16,
    maxMessages: options.maxMessages ?? 2048,
    maxInputs: options.maxInputs ?? 2048,
    requestTimeoutMs: options.requestTimeoutMs ?? 0,
    stallTimeoutMs: options.stallTimeoutMs ?? 60_000,
  };
  const app = createApp({
    chat: new ChatService(
      models,
      new GroundingService(
        retrieval,
        {
          policy: "off",
          prompt: "Use these.",
          bounds: { limit: 5, scoreThreshold: 0.4 },
          autoThreshold: 0.5,
          contextWindow: 1,
          followUps: false,
          ...options.rag,
        },
        log,
      ),
      new ImageFiles(documents.files, requestLimits),
    ),
    retrieval,
    files: documents.files,
    stores: documents.stores,
    storeFiles: documents.storeFiles,
    storeAccess: documents.storeAccess,
    storeSearch: documents.storeSearch,
    responses: responses.responses,
    conversations: responses.conversations,
    mcp: mcpEndpoint("1.2.3", { ...documents, retrieval, storeAccess: documents.storeAccess }),
    models,
    library: { ...noLibrary, ...options.library },
    identity: () => ({ version: "1.2.3", engineVersion: "llama.cpp v9 (test)", port: 4321 }),
    access: withoutGuessing(keyAccess(options.keys ?? [], options.ring), {
      ...{ connections, log, now: options.now ?? (() => 0) },
    }),
    rateLimit: {
      limiter: options.limiter ?? limits,
      addresses: limits,
      connections,
      callerLimits: { ...noLimits, ...options.callerLimits },
      connectionsPerClient: options.connectionsPerClient ?? 0,
      sharePrefixes: options.sharePrefixes ?? false,
    },
    stopping: options.stopping ?? new AbortController().signal,
    isDraining,
    checkReadiness: (who) => checkReadiness(parts, who),
    metrics,
    telemetry: metrics,
    isOpen: options.open ?? false,
    openOperations: options.metricsOpen === true ? ["metrics"] : [],
    corsOrigins: options.corsOrigins ?? [],
    looksLikeOllama: options.looksLikeOllama ?? false,
    ...(options.allowedHosts === undefined ? {} : { allowedHosts: options.allowedHosts }),
    limits: requestLimits,
    log,
    logsPrompts: options.logPrompts === true,
  });
  const handle = async (request: Request): Promise<Response> => await app.handle(request);
  return {
    chat,
    embedding,
    reranker,
    repository,
    models,
    retrieval,
    telemetry: metrics,
    documents,
    registry,
    responses,
    log: lines,
    connections,
    handle,
    post: (path, body, headers = {}) =>
      handle(
        new Request(`http://localhost${path}`, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: typeof body === "string" ? body : JSON.stringify(body),
        }),
      ),
    get: (path, headers = {}) => handle(new Request(`http://localhost${path}`, { headers })),
  };
}
