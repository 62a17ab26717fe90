/** Node information between the wire and the domain. */
import { given } from "../../../core/given.ts";
import type { ModelCard, UpstreamCard } from "../../../core/models/model.ts";
import type { Collection } from "../../../core/retrieval/retrieval-service.ts";
import type { NodeInfo } from "./schema.ts";

/** What the node knows of itself, besides its models and its collection. */
export interface NodeIdentity {
  version: string;
  /** The engine's release and build. */
  engineVersion: string;
  port: number;
}

export function toNodeInfo(
  { version, engineVersion, port }: NodeIdentity,
  cards: readonly ModelCard[],
  { url, name, bounds }: Collection,
  urlsOf: (upstream: UpstreamCard) => readonly string[] = ({ urls }) => urls(),
): NodeInfo {
  return {
    version,
    plugin_version: engineVersion,
    port: String(port),
    models: cards.map((card) => toModelInfo(card, urlsOf)),
    vectorstore_config: {
      url,
      collection_name: name,
      limit: bounds.limit,
      score_threshold: bounds.scoreThreshold,
    },
  };
}

function toModelInfo(
  { name, type, settings, advice, upstream }: ModelCard,
  urlsOf: (upstream: UpstreamCard) => readonly string[],
): NodeInfo["models"][number] {
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
    ...given({ advice, upstream: upstream && toUpstream(upstream, urlsOf(upstream)) }),
  };
}

const toUpstream = ({ model, server, tokens }: UpstreamCard, urls: readonly string[]) => ({
  model,
  server,
  tokens,
  urls: [...urls],
});
