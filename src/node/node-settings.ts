/** Options of a node's parts, and the conversion of the configuration into their settings. */
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
import {
  type ContextSettings,
  samplingDefaults,
  starterSampling,
  upstreamSampling,
} from "../core/models/model.ts";
import type { ModelBounds } from "../core/models/model-activity.ts";
import { type Quantization, quantizations } from "../core/models/model-files.ts";
import type { ModelSpec } from "../core/ports/model-host.ts";
import type { Progress } from "../core/progress.ts";
import type { Collection } from "../core/retrieval/retrieval-service.ts";
import type { RedisOptions } from "../gateway/redis/connection.ts";
import type { UpstreamSpec } from "../gateway/upstream/open-model.ts";
import type { Hub } from "../models/sources/hub-reference.ts";
import type { RegistryOf } from "../models/sources/npm/registry-settings.ts";
import type { Services } from "../server/app.ts";
import type { Program } from "../subprocess/program.ts";
import type { SecretOf, UpstreamModels } from "./gateway/upstream-models.ts";

export interface StoreOptions {
  config: Config;
  /** Base of relative paths in the configuration. */
  baseDir: string;
  log: Log;
}

export interface ModelOptions extends StoreOptions {
  program: Program;
  /** The hub to fetch models from; default: the public one, without a token. */
  hub?: Hub;
  /** The npm registry of a package; default: the one in the user's npm configuration. */
  registryOf?: RegistryOf;
  progress: Progress;
  /** Reads environment variables that hold keys of upstream servers; default: none are set. */
  secretOf?: SecretOf;
  /** The node's upstream models; default: opened when needed. */
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

export function toRequestLimits({ limits, http, documents }: Config): Services["limits"] {
  return {
    maxBodyBytes: limits.max_body_bytes,
    bodyTimeoutMs: limits.body_timeout * 1000,
    maxImageBytes: limits.max_image_bytes,
    maxMessages: limits.max_messages,
    maxInputs: limits.max_inputs,
    requestTimeoutMs: limits.request_timeout * 1000,
    maxFileBytes: documents.max_file_bytes,
    stallTimeoutMs: http.stall_timeout * 1000,
  };
}

/** The Redis server that several nodes share; undefined if this node is alone. */
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

/** What a model's weights are converted to; undefined: nothing. The starter chat model's lose nothing by it. */
export function toQuantization(
  model: ModelConfig,
): { type: Quantization; inBackground: boolean } | undefined {
  const wanted =
    model.quantization === "auto" && isStarterChat(model) ? "q4_0" : model.quantization;
  const type = quantizations.find((known) => known === wanted);
  if (type === undefined) return undefined;
  return { type, inBackground: model.transcode === "behind" && model.type === "chat" };
}

/** Only local chat models have slots and a bounded queue; an upstream server has its own. */
export function toModelBounds({ name, type, source, ...bounds }: ModelConfig): ModelBounds {
  if (isUpstream(source)) return { name, isUpstream: true };
  if (type !== "chat") return { name };
  return { name, slots: bounds.parallel, maxQueue: bounds.max_queue };
}

/** Most memory of all models together, in bytes; undefined: no limit. */
export const toMemoryLimit = ({ engine }: Config): number | undefined =>
  engine.memory_limit === 0 ? undefined : engine.memory_limit * 1e6;

/** Settings that the upstream server decides are 0. */
export function toUpstreamSpec(model: ModelConfig): UpstreamSpec {
  const { name, type, ctx_size: ctxSize, vision } = model;
  return {
    name,
    type,
    ...given({ vision }),
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

export function toModelSpec(
  model: ModelConfig,
  path: string,
  { config, baseDir }: Pick<StoreOptions, "config" | "baseDir">,
): ModelSpec {
  const { name, type, parallel, max_queue: maxQueue } = model;
  return {
    name,
    type,
    path,
    parallel,
    maxQueue,
    ...given({
      memoryLimit: toMemoryLimit(config),
      keepAliveMs: model.keep_alive < 0 ? undefined : model.keep_alive * 1000,
    }),
    prefixes: given({ query: model.query_prefix, document: model.document_prefix }),
    settings: {
      promptTemplate: model.prompt_template,
      nPredict: model.n_predict,
      nGpuLayers: model.n_gpu_layers,
      ctxSize: model.ctx_size,
      batchSize: model.batch_size,
      ...given({ context: toContextSettings(model, baseDir) }),
      ...samplingOf(model, isStarterChat(model) ? starterSampling : samplingDefaults),
    },
  };
}

/** Undefined for models that are not for chat. `baseDir`: base of relative paths. */
export function toContextSettings(
  model: ModelConfig,
  baseDir: string,
): ContextSettings | undefined {
  if (model.type !== "chat") return undefined;
  return {
    cacheTypeK: model.cache_type_k,
    cacheTypeV: model.cache_type_v,
    flashAttention: model.flash_attention,
    lora: model.lora.map(({ path, scale }) => ({ path: resolve(baseDir, path), scale })),
  };
}

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

/** The folder of models, collections and keys; `baseDir`: base of a relative path. */
export const dataDirOf = ({ data_dir: path }: Pick<Config, "data_dir">, baseDir: string): string =>
  resolve(baseDir, path);

const others = 0o077;
/** Rights of everyone else: the group may be the node's own. */
export const everyone = 0o007;

/** Rights in `chmod` notation, if others than the owner have any. Only reported: they may be shared on purpose. */
export function openRightsOf(path: string, whose = others): string | undefined {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  // Windows has a different model, and reports these rights for everyone.
  if (platform() === "win32" || (mode & whose) === 0) return undefined;
  return (mode & 0o777).toString(8);
}
