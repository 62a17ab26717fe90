/** The node itself: GET /health, /ready and /metrics; /v1/info, by GET and POST. */
import { basename } from "node:path";
import { Type as T } from "@sinclair/typebox";
import { given } from "../../../core/given.ts";
import type { ContextSettings, ModelCard } from "../../../core/models/model.ts";
import type { ModelRegistry } from "../../../core/models/model-registry.ts";
import type { MetricsPage } from "../../../core/ports/telemetry.ts";
import type { ReadinessReport } from "../../../core/readiness.ts";
import type { RetrievalService } from "../../../core/retrieval/retrieval-service.ts";
import { redactPaths } from "../../middleware/errors.ts";
import { type Answer, defineOperation, described } from "../../operation.ts";
import type { RequestContext } from "../../request-context.ts";
import { Health, NodeInfo, Readiness } from "./schema.ts";

interface ReadinessNeeds {
  /** Reports problems that prevent the node from serving, and what is still being prepared. */
  checkReadiness: (who: { isStranger: boolean }) => Promise<ReadinessReport>;
}

export interface NodeIdentity {
  version: string;
  engineVersion: string;
  port: number;
}

interface InfoNeeds {
  models: ModelRegistry;
  retrieval: RetrievalService;
  /** Called for each request: the port and the engine are known only when the node runs. */
  identity: () => NodeIdentity;
}

const alive: Health = { status: "alive" };

const info = {
  name: "info",
  description: "The node's version, its models with their settings, and its collection.",
  tag: "Node",
  key: "optional",
  answer: described({ NodeInfo }, "The node's configuration.", {
    version: "0.2.0",
    plugin_version: "llama.cpp v0.5.0 (ggml-org/llama.cpp, prebuilt build, cpu)",
    port: "8080",
    models: [
      {
        name: "TinyLlama-1.1B-Chat-v1.0",
        type: "chat",
        prompt_template: "auto",
        n_predict: -1,
        n_gpu_layers: 0,
        ctx_size: 2048,
        batch_size: 512,
        temperature: 1,
        top_p: 1,
        min_p: 0.6,
        repeat_penalty: 1,
        presence_penalty: 0,
        frequency_penalty: 0,
        repeat_last_n: -1,
        dry_multiplier: 0.8,
        dry_base: 1.75,
        dry_allowed_length: 2,
        cache_type_k: "f16",
        cache_type_v: "f16",
        flash_attention: "auto",
        lora: [],
      },
    ],
    vectorstore_config: {
      url: "embedded",
      collection_name: "default",
      limit: 5,
      score_threshold: 0.4,
    },
  }),
  handler: (_request: unknown, { isStranger }: RequestContext, needs: InfoNeeds) => ({
    json: isStranger ? forStrangers(toNodeInfo(needs)) : toNodeInfo(needs),
  }),
} as const;

export const nodeOperations = [
  defineOperation({
    ...info,
    route: "POST /v1/info",
    operationId: "describeNode",
    summary: "Describe the node",
  }),
  defineOperation({
    ...info,
    route: "GET /v1/info",
    operationId: "getInfo",
    summary: "Describe the node, without a body",
  }),
  defineOperation({
    route: "GET /health",
    name: "health",
    operationId: "getHealth",
    summary: "Whether the process answers",
    tag: "Node",
    isProbe: true,
    whileDraining: true,
    answer: described({ Health }, "It does.", alive),
    handler: () => ({ json: alive }),
  }),
  defineOperation({
    route: "GET /ready",
    name: "ready",
    operationId: "getReadiness",
    summary: "Whether the node is ready for requests",
    tag: "Node",
    key: "optional",
    isProbe: true,
    whileDraining: true,
    answer: described(
      { Readiness },
      "Models, collection and documents are ready, and no queue is full. `reasons` says if the handbook is still being stored, or Redis is away.",
      { status: "ready", reasons: [] },
    ),
    errors: {
      503: {
        name: "Readiness",
        schema: Readiness,
        description: "Something is not ready or a queue is full; `reasons` says what.",
      },
    },
    handler: async (
      _request,
      { isStranger },
      { checkReadiness }: ReadinessNeeds,
    ): Promise<Answer> => {
      const { problems, notes, coming } = await checkReadiness({ isStranger });
      const reasons = [...problems, ...notes, ...coming].map(redactPaths);
      if (problems.length === 0) return { json: { status: "ready", reasons } satisfies Readiness };
      return { status: 503, json: { status: "not ready", reasons } satisfies Readiness };
    },
  }),
  defineOperation({
    route: "GET /metrics",
    name: "metrics",
    operationId: "getMetrics",
    summary: "Metrics for Prometheus",
    description:
      "Requests, tokens, times, queues and memory. A node with keys requires one, unless `[metrics] open = true`.",
    tag: "Node",
    key: "required",
    whileDraining: true,
    answer: {
      name: "Metrics",
      schema: T.String({ description: "Prometheus' text format, version 0.0.4." }),
      description: "The metrics.",
      contentType: "text/plain",
    },
    errors: { 401: "The key is missing or wrong, on a node with keys." },
    handler: async (_request, _context, { metrics }: { metrics: MetricsPage }) => ({
      text: await metrics.text(),
      contentType: metrics.contentType,
    }),
  }),
] as const;

const hidden = "hidden";

/** Strangers do not learn where the store and the models are, or what the machine is. */
function forStrangers(info: NodeInfo): NodeInfo {
  return {
    ...info,
    // The advice reveals how much memory the machine has.
    models: info.models.map(({ advice: _, upstream, ...model }) => ({
      ...model,
      ...given({ upstream: upstream && { ...upstream, urls: [hidden] } }),
    })),
    vectorstore_config: { ...info.vectorstore_config, url: hidden },
  };
}

function toNodeInfo({ models, retrieval, identity }: InfoNeeds): NodeInfo {
  const { version, engineVersion, port } = identity();
  const { url, name, bounds } = retrieval.collection;
  return {
    version,
    plugin_version: engineVersion,
    port: String(port),
    models: models.cards().map(toModelInfo),
    vectorstore_config: {
      url,
      collection_name: name,
      limit: bounds.limit,
      score_threshold: bounds.scoreThreshold,
    },
  };
}

function toModelInfo({ name, type, settings, advice, vision, upstream }: ModelCard): ModelInfo {
  return {
    name,
    type,
    prompt_template: settings.promptTemplate,
    n_predict: settings.nPredict,
    n_gpu_layers: settings.nGpuLayers,
    ctx_size: settings.ctxSize,
    batch_size: settings.batchSize,
    temperature: settings.temperature,
    top_p: settings.topP,
    min_p: settings.minP,
    repeat_penalty: settings.repeatPenalty,
    presence_penalty: settings.presencePenalty,
    frequency_penalty: settings.frequencyPenalty,
    repeat_last_n: settings.repeatLastN,
    dry_multiplier: settings.dryMultiplier,
    dry_base: settings.dryBase,
    dry_allowed_length: settings.dryAllowedLength,
    ...(settings.context && toContextInfo(settings.context)),
    ...given({ advice, vision, upstream: upstream && { ...upstream, urls: [...upstream.urls()] } }),
  };
}

function toContextInfo({ cacheTypeK, cacheTypeV, flashAttention, lora }: ContextSettings) {
  return {
    cache_type_k: cacheTypeK,
    cache_type_v: cacheTypeV,
    flash_attention: flashAttention,
    // Their folders are nobody else's business.
    lora: lora.map(({ path, scale }) => ({ path: basename(path), scale })),
  };
}

type ModelInfo = NodeInfo["models"][number];
