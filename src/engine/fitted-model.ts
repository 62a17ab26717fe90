/** What every model tells of itself once its settings are chosen and its weights are loaded. */
import type { LlamaModel } from "node-llama-cpp";
import type { ModelCard, ModelSettings } from "../core/models/model.ts";
import type { ModelSpec } from "../core/ports/model-host.ts";
import type { Backend } from "./backend.ts";
import { fingerprint, weightsDigest } from "./fingerprint.ts";
import { defaultContext } from "./machine/model-memory.ts";

/** With every `auto` setting chosen. */
export type FittedSpec = ModelSpec & { settings: ModelSettings };

export function contextSize(model: LlamaModel, { settings, type }: FittedSpec): number {
  if (settings.ctxSize === 0) return defaultContext(model.trainContextSize, type);
  if (settings.ctxSize > model.trainContextSize) {
    throw new Error(
      `ctx_size is ${settings.ctxSize}, but it was trained on ${model.trainContextSize} tokens`,
    );
  }
  return settings.ctxSize;
}

export function card(
  model: LlamaModel,
  { name, type }: ModelSpec,
  settings: ModelSettings,
  createdAt: Date,
): ModelCard {
  const { author } = model.fileInfo.metadata.general;
  return { name, type, createdAt, ownedBy: author ?? "paddock", settings };
}

export async function fingerprintOf(
  backend: Backend,
  spec: ModelSpec,
  settings: ModelSettings,
  template: string,
): Promise<string> {
  const weights = await weightsDigest(spec.path);
  return fingerprint({ weights, engine: backend.version, settings, template });
}
