/** POST and GET /v1/info */
import { given } from "../../../core/given.ts";
import type { ModelCard } from "../../../core/models/model.ts";
import type { ModelRegistry } from "../../../core/models/model-registry.ts";
import type { Collection, RetrievalService } from "../../../core/retrieval/retrieval-service.ts";
import {
  defineOperation,
  type Handler,
  namedSchema,
  type OperationFacts,
  tags,
} from "../../operation.ts";
import { NodeInfo } from "./schema.ts";

const facts = {
  path: "/v1/info",
  name: "info",
  description: "The node's version, its models with their settings, and its collection.",
  tag: tags.node,
  key: "optional",
  answer: {
    ...namedSchema({ NodeInfo }),
    description: "The node's configuration.",
    example: {
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
        },
      ],
      vectorstore_config: {
        url: "embedded",
        collection_name: "default",
        limit: 5,
        score_threshold: 0.4,
      },
    },
  },
  errors: {},
} satisfies Partial<OperationFacts>;

/** Facts about the node, in addition to its models and its collection. */
export interface NodeIdentity {
  version: string;
  /** The engine's release and build. */
  engineVersion: string;
  port: number;
}

interface Needs {
  models: ModelRegistry;
  retrieval: RetrievalService;
  /** Called for each request: the port and the engine are known only when the node runs. */
  identity: () => NodeIdentity;
}

const hidden = "hidden";

/** Strangers do not learn where the store and the models are, or what the machine is. */
const handler: Handler<unknown, Needs> = (
  _request,
  { isStranger },
  { models, retrieval, identity },
) => {
  const info = toNodeInfo(identity(), models.cards(), retrieval.collection);
  return { json: isStranger ? forStrangers(info) : info };
};

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

const describeNode = defineOperation({
  ...facts,
  method: "POST",
  operationId: "describeNode",
  summary: "Describe the node",
  handler,
});

const getInfo = defineOperation({
  ...facts,
  method: "GET",
  operationId: "getInfo",
  summary: "Describe the node, without a body",
  handler,
});

export const infoOperations = [describeNode, getInfo] as const;

function toNodeInfo(
  { version, engineVersion, port }: NodeIdentity,
  cards: readonly ModelCard[],
  { url, name, bounds }: Collection,
): NodeInfo {
  return {
    version,
    plugin_version: engineVersion,
    port: String(port),
    models: cards.map(toModelInfo),
    vectorstore_config: {
      url,
      collection_name: name,
      limit: bounds.limit,
      score_threshold: bounds.scoreThreshold,
    },
  };
}

function toModelInfo({ name, type, settings, advice, upstream }: ModelCard): ModelInfo {
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
    ...given({ advice, upstream: upstream && { ...upstream, urls: [...upstream.urls()] } }),
  };
}

type ModelInfo = NodeInfo["models"][number];
