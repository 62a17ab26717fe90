/** The app on scripted engines and an in-memory store, for tests of the wire. */
import { createApp } from "../../src/app.ts";
import { ChatService } from "../../src/core/chat.ts";
import { EmbeddingService } from "../../src/core/embedding.ts";
import { GroundingService, type RagSettings } from "../../src/core/grounding.ts";
import { ModelRegistry } from "../../src/core/model.ts";
import { type CallerLimits, noLimits, RateLimiter } from "../../src/core/rate-limit.ts";
import { RetrievalService, type RetrievalSettings } from "../../src/core/retrieval.ts";
import { keyAccess } from "../../src/http/auth.ts";
import { Connections } from "../../src/http/connections.ts";
import { Entrance } from "../../src/http/entrance.ts";
import { PromptLog } from "../../src/http/prompt-log.ts";
import type { SqliteRepository } from "../../src/repository/sqlite/sqlite-repository.ts";
import { type LogLine, recordingLog } from "./recording-log.ts";
import { ScriptedChatEngine, ScriptedEmbeddingEngine } from "./scripted-engines.ts";
import { card, chatModel, embeddingModel, memoryRepository } from "./test-models.ts";

export interface TestApp {
  chat: ScriptedChatEngine;
  embedding: ScriptedEmbeddingEngine;
  repository: SqliteRepository;
  models: ModelRegistry;
  log: LogLine[];
  /** What a server would say of a request's connection. */
  connections: Connections;
  handle(request: Request): Promise<Response>;
  /** Sends a JSON body. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  get(path: string): Promise<Response>;
}

export interface TestAppOptions {
  keys?: readonly string[];
  callerLimits?: Partial<CallerLimits>;
  connectionsPerClient?: number;
  /** The clock of the limits; default: the real one. */
  now?: () => number;
  maxBodyBytes?: number;
  bodyTimeoutMs?: number;
  maxMessages?: number;
  maxInputs?: number;
  requestTimeoutMs?: number;
  stopping?: AbortSignal;
  logPrompts?: boolean;
  corsOrigins?: readonly string[];
  /** Absent: hosts are not checked. */
  allowedHosts?: readonly string[];
  /** Whether it was asked to stop. */
  draining?: boolean;
  /** Leaves the models and the collection unprepared. */
  unprepared?: boolean;
  nPredict?: number;
  retrieval?: Partial<RetrievalSettings>;
  rag?: Partial<RagSettings>;
}

export function testApp(options: TestAppOptions = {}): TestApp {
  const chat = new ScriptedChatEngine();
  const embedding = new ScriptedEmbeddingEngine();
  const models = new ModelRegistry([
    { name: "chatty", type: "chat" },
    { name: "vectors", type: "embedding" },
    { name: "others", type: "embedding" },
  ]);
  const retrieval = new RetrievalService(
    models,
    {
      name: "default",
      embeddingModel: "vectors",
      url: "embedded",
      bounds: { limit: 5, scoreThreshold: 0.4 },
    },
    { mode: "dense", candidates: 50, ...options.retrieval },
  );
  const repository = memoryRepository(2);
  if (options.unprepared !== true) {
    const chatCard = card("chatty", "chat");
    chatCard.settings.nPredict = options.nPredict ?? -1;
    models.add(chatModel("chatty", chat, chatCard));
    for (const name of ["vectors", "others"]) models.add(embeddingModel(name, embedding));
    retrieval.attach({ repository, queryPrefix: "" });
  }
  const { log, lines } = recordingLog();
  const connections = new Connections();
  const app = createApp({
    chat: new ChatService(
      models,
      new GroundingService(
        retrieval,
        {
          policy: "off",
          prompt: "Use these.",
          bounds: { limit: 5, scoreThreshold: 0.4 },
          contextWindow: 1,
          ...options.rag,
        },
        log,
      ),
    ),
    embeddings: new EmbeddingService(models),
    retrieval,
    models,
    identity: () => ({ version: "1.2.3", engineVersion: "llama.cpp v9 (test)", port: 4321 }),
    entrance: new Entrance({
      access: keyAccess(options.keys ?? []),
      limiter: new RateLimiter(options.now ?? (() => performance.now())),
      connections,
      limits: { ...noLimits, ...options.callerLimits },
      connectionsPerClient: options.connectionsPerClient ?? 0,
    }),
    stopping: options.stopping ?? new AbortController().signal,
    isDraining: () => options.draining ?? false,
    corsOrigins: options.corsOrigins ?? [],
    ...(options.allowedHosts === undefined ? {} : { allowedHosts: options.allowedHosts }),
    limits: {
      maxBodyBytes: options.maxBodyBytes ?? 1 << 20,
      bodyTimeoutMs: options.bodyTimeoutMs ?? 30_000,
      maxMessages: options.maxMessages ?? 2048,
      maxInputs: options.maxInputs ?? 2048,
      requestTimeoutMs: options.requestTimeoutMs ?? 0,
    },
    log,
    promptLog: options.logPrompts === true ? new PromptLog(log) : new PromptLog(),
  });
  const handle = async (request: Request): Promise<Response> => await app.handle(request);
  return {
    chat,
    embedding,
    repository,
    models,
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
    get: (path) => handle(new Request(`http://localhost${path}`)),
  };
}
