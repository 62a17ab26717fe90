/** The app on scripted engines and an in-memory store, for tests of the wire. */
import { createApp } from "../../src/app.ts";
import { ChatService } from "../../src/core/chat.ts";
import { EmbeddingService } from "../../src/core/embedding.ts";
import { type ModelCard, ModelRegistry, type ModelType } from "../../src/core/model.ts";
import { RetrievalService } from "../../src/core/retrieval.ts";
import { keyAccess } from "../../src/http/auth.ts";
import { SqliteRepository } from "../../src/repository/sqlite/sqlite-repository.ts";
import { type LogLine, recordingLog } from "./recording-log.ts";
import { ScriptedChatEngine, ScriptedEmbeddingEngine } from "./scripted-engines.ts";

export const madeAt = new Date("2026-11-01T12:00:00Z");

export function card(name: string, type: ModelType): ModelCard {
  return {
    name,
    type,
    createdAt: madeAt,
    ownedBy: "tester",
    settings: {
      promptTemplate: "auto",
      nPredict: -1,
      nGpuLayers: 0,
      ctxSize: 128,
      batchSize: 64,
      temperature: 0.7,
      topP: 0.9,
      repeatPenalty: 1.1,
      presencePenalty: 0.2,
      frequencyPenalty: 0.3,
    },
  };
}

/** Nothing to give back. */
const lasting: AsyncDisposable = { [Symbol.asyncDispose]: async () => {} };

export interface TestApp {
  chat: ScriptedChatEngine;
  embedding: ScriptedEmbeddingEngine;
  repository: SqliteRepository;
  models: ModelRegistry;
  log: LogLine[];
  handle(request: Request): Promise<Response>;
  /** Sends a JSON body. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  get(path: string): Promise<Response>;
}

export interface TestAppOptions {
  keys?: readonly string[];
  maxBodyBytes?: number;
  requestTimeoutMs?: number;
  stopping?: AbortSignal;
  /** Leaves the models and the collection unprepared. */
  unprepared?: boolean;
  nPredict?: number;
}

export function testApp(options: TestAppOptions = {}): TestApp {
  const chat = new ScriptedChatEngine();
  const embedding = new ScriptedEmbeddingEngine();
  const models = new ModelRegistry([
    { name: "chatty", type: "chat" },
    { name: "vectors", type: "embedding" },
    { name: "others", type: "embedding" },
  ]);
  const retrieval = new RetrievalService(models, {
    name: "default",
    embeddingModel: "vectors",
    url: "embedded",
    bounds: { limit: 5, scoreThreshold: 0.4 },
  });
  const repository = SqliteRepository.open({ path: ":memory:", collection: "test", dimension: 2 });
  if (options.unprepared !== true) {
    const chatCard = card("chatty", "chat");
    chatCard.settings.nPredict = options.nPredict ?? -1;
    models.add({
      type: "chat",
      card: chatCard,
      engine: chat,
      fingerprint: "fp_c0ffee",
      ...lasting,
    });
    for (const name of ["vectors", "others"]) {
      models.add({
        type: "embedding",
        card: card(name, "embedding"),
        engine: embedding,
        fingerprint: "fp_decade",
        ...lasting,
      });
    }
    retrieval.attach(repository);
  }
  const { log, lines } = recordingLog();
  const app = createApp({
    chat: new ChatService(models),
    embeddings: new EmbeddingService(models),
    retrieval,
    models,
    identity: () => ({ version: "1.2.3", engineVersion: "llama.cpp v9 (test)", port: 4321 }),
    access: keyAccess(options.keys ?? []),
    stopping: options.stopping ?? new AbortController().signal,
    limits: {
      maxBodyBytes: options.maxBodyBytes ?? 1 << 20,
      requestTimeoutMs: options.requestTimeoutMs ?? 0,
    },
    log,
  });
  const handle = async (request: Request): Promise<Response> => await app.handle(request);
  return {
    chat,
    embedding,
    repository,
    models,
    log: lines,
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
