/** Models on scripted engines, as the registry holds them. */
import type {
  ChatModel,
  EmbeddingModel,
  ModelCard,
  ModelType,
  RerankingModel,
} from "../../src/core/models/model.ts";
import type { ChatEngine } from "../../src/core/ports/chat-engine.ts";
import type { EmbeddingEngine } from "../../src/core/ports/embedding-engine.ts";
import type { CollectionSpec } from "../../src/core/ports/passage-repository.ts";
import type { Reranker } from "../../src/core/ports/reranker.ts";
import { inMemory } from "../../src/store/sqlite/memory-collection.ts";
import type { SqliteRepository } from "../../src/store/sqlite/sqlite-repository.ts";

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
      minP: 0.08,
      repeatPenalty: 1.1,
      repeatLastN: -1,
      dryMultiplier: 0,
      dryBase: 1.75,
      dryAllowedLength: 2,
      presencePenalty: 0.2,
      frequencyPenalty: 0.3,
    },
  };
}

/** Nothing to give back. */
const lasting: AsyncDisposable = { [Symbol.asyncDispose]: async () => {} };

export function chatModel(
  name: string,
  engine: ChatEngine,
  ownCard = card(name, "chat"),
): ChatModel & { type: "chat" } {
  return {
    type: "chat",
    card: ownCard,
    engine,
    fingerprint: "fp_c0ffee",
    ...lasting,
  };
}

export function embeddingModel(
  name: string,
  engine: EmbeddingEngine,
): EmbeddingModel & { type: "embedding" } {
  return {
    type: "embedding",
    card: card(name, "embedding"),
    engine,
    fingerprint: "fp_decade",
    identity: { model: name, fingerprint: "weights", queryPrefix: "", documentPrefix: "" },
    ...lasting,
  };
}

export const rerankingModel = (
  name: string,
  engine: Reranker,
): RerankingModel & { type: "reranker" } => ({
  type: "reranker",
  card: card(name, "reranker"),
  engine,
  fingerprint: "fp_facade",
  ...lasting,
});

export const specOf = (dimension: number): CollectionSpec => ({
  dimension,
  embedding: { model: "vectors", fingerprint: "weights", queryPrefix: "", documentPrefix: "" },
});

/** A real store that lives in memory. */
export function memoryRepository(dimension: number): SqliteRepository {
  return inMemory("test", specOf(dimension));
}
