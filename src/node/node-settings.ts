/** What the configuration means to the parts of the node. */
import type { ModelConfig } from "../config/model-schema.ts";
import type { Config } from "../config/schema.ts";
import type { RagSettings } from "../core/chat/grounding.ts";
import { given } from "../core/given.ts";
import type { CallerLimits } from "../core/limits/rate-limiter.ts";
import { defaultMinP, starterMinP } from "../core/models/default-min-p.ts";
import type { ModelBounds } from "../core/models/model-activity.ts";
import { type Quantization, quantizations } from "../core/models/quantization.ts";
import type { ModelSpec } from "../core/ports/model-host.ts";
import type { Collection } from "../core/retrieval/retrieval-service.ts";

export function toCollection({ models, vectorstore }: Config): Collection {
  const first = models.find(({ type }) => type === "embedding")?.name;
  return {
    name: vectorstore.collection_name,
    embeddingModel: vectorstore.embedding_model ?? first,
    url: vectorstore.url,
    bounds: { limit: vectorstore.limit, scoreThreshold: vectorstore.score_threshold },
  };
}

export function toCallerLimits({ limits }: Config): CallerLimits {
  return {
    requestsPerMinute: limits.requests_per_minute,
    tokensPerMinute: limits.tokens_per_minute,
    concurrency: limits.concurrency,
  };
}

export function toRagSettings({ rag }: Config): RagSettings {
  return {
    policy: rag.policy,
    prompt: rag.prompt,
    bounds: { limit: rag.limit, scoreThreshold: rag.score_threshold },
    contextWindow: rag.context_window,
    followUps: rag.follow_ups,
  };
}

const isStarterChat = ({ source }: Pick<ModelConfig, "source">): boolean =>
  source === "starter:chat";

/** The starter chat model comes in 2 bits, which a CPU decodes slowly. */
const starterForm: Quantization = "q8_0";

export function toQuantization({ quantization, source }: ModelConfig): Quantization | undefined {
  if (quantization === "auto") return isStarterChat({ source }) ? starterForm : undefined;
  return quantizations.find((known) => known === quantization);
}

/** Only chat models have slots, and a line that can be full. */
export function toModelBounds({ name, type, parallel, max_queue }: ModelConfig): ModelBounds {
  return type === "chat" ? { name, slots: parallel, maxQueue: max_queue } : { name };
}

/** Bytes that all models together may take; undefined: no bound. */
export const toMemoryLimit = ({ engine }: Config): number | undefined =>
  engine.memory_limit === 0 ? undefined : engine.memory_limit * 1e6;

export function toModelSpec(model: ModelConfig, path: string, memoryLimit?: number): ModelSpec {
  const { name, type, parallel, max_queue: maxQueue } = model;
  return {
    name,
    type,
    path,
    parallel,
    maxQueue,
    ...given({
      memoryLimit,
      keepAliveMs: model.keep_alive < 0 ? undefined : model.keep_alive * 1000,
    }),
    prefixes: given({ query: model.query_prefix, document: model.document_prefix }),
    settings: {
      promptTemplate: model.prompt_template,
      nPredict: model.n_predict,
      nGpuLayers: model.n_gpu_layers,
      ctxSize: model.ctx_size,
      batchSize: model.batch_size,
      temperature: model.temperature,
      topP: model.top_p,
      minP: model.min_p ?? (isStarterChat(model) ? starterMinP : defaultMinP),
      repeatPenalty: model.repeat_penalty,
      presencePenalty: model.presence_penalty,
      frequencyPenalty: model.frequency_penalty,
    },
  };
}
