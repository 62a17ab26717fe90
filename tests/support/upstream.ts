/** A model at an address, asked by the engines that ask for models elsewhere. */
import type { ModelSettings, ModelType } from "../../src/core/models/model.ts";
import type { Upstream } from "../../src/gateway/upstream/ask.ts";
import { openUpstreamModel } from "../../src/gateway/upstream/open-model.ts";
import { neutralSettings } from "./neutral-settings.ts";
import { type OneReplica, oneReplica } from "./one-replica.ts";
import { recordingLog } from "./recording-log.ts";

const neutral: ModelSettings = { ...neutralSettings, ctxSize: 0, batchSize: 0 };

export function targetAt(url: string, options: Partial<Upstream> = {}) {
  const { log, lines } = recordingLog();
  const replicas: OneReplica = oneReplica(url);
  const target: Upstream = {
    named: "the model 'far'",
    upstreamModel: "far",
    silenceMs: 10_000,
    replicas,
    log,
    ...options,
  };
  return { target, replicas, lines };
}

/** The model of a target; `settings`: what the configuration says of it. */
async function openFar(type: ModelType, target: Upstream, settings: Partial<ModelSettings> = {}) {
  const spec = { name: "far", type, settings: { ...neutral, ...settings } };
  return await openUpstreamModel(spec, target, new AbortController().signal);
}

export async function openFarChat(target: Upstream, settings?: Partial<ModelSettings>) {
  const model = await openFar("chat", target, settings);
  if (model.type !== "chat") throw new Error("not a chat model");
  return model;
}

export async function openFarEmbedding(target: Upstream, settings?: Partial<ModelSettings>) {
  const model = await openFar("embedding", target, settings);
  if (model.type !== "embedding") throw new Error("not an embedding model");
  return model;
}

export async function openFarReranker(target: Upstream, settings?: Partial<ModelSettings>) {
  const model = await openFar("reranker", target, settings);
  if (model.type !== "reranker") throw new Error("not a reranking model");
  return model;
}
