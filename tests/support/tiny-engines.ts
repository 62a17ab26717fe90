/** The real engines on the tiny models, behind their ports. */
import type {
  ChatModel,
  EmbeddingModel,
  LoadedModel,
  ModelSettings,
} from "../../src/core/model.ts";
import { type Backend, openBackend } from "../../src/engine/backend.ts";
import { loadModel, type ModelSpec } from "../../src/engine/load-model.ts";
import { silentLog, silentProgress } from "./silence.ts";
import { tinyModels } from "./tiny-models.ts";

export const neutralSettings: ModelSettings = {
  promptTemplate: "auto",
  nPredict: -1,
  nGpuLayers: 0,
  ctxSize: 256,
  batchSize: 32,
  temperature: 1,
  topP: 1,
  repeatPenalty: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
};

let backend: Promise<Backend> | undefined;

/** The one llama.cpp of the test run; it ends with the process. */
export function testBackend(): Promise<Backend> {
  backend ??= openBackend({ threads: 0, accelerator: false, log: silentLog });
  return backend;
}

export async function tinyChatModel(overrides: Partial<ModelSpec> = {}): Promise<ChatModel> {
  const { chat } = await tinyModels();
  const model = await load({ name: "tiny", type: "chat", path: chat, ...overrides });
  if (model.type !== "chat") throw new Error("not a chat model");
  return model;
}

export async function tinyEmbeddingModel(
  overrides: Partial<ModelSpec> = {},
): Promise<EmbeddingModel> {
  const { embedding } = await tinyModels();
  const settings = { ...neutralSettings, ctxSize: 0 };
  const spec = { name: "tiny", type: "embedding", path: embedding, settings } as const;
  const model = await load({ ...spec, ...overrides });
  if (model.type !== "embedding") throw new Error("not an embedding model");
  return model;
}

async function load(
  spec: Pick<ModelSpec, "name" | "type" | "path"> & Partial<ModelSpec>,
): Promise<LoadedModel> {
  const complete = { parallel: 2, maxQueue: 64, settings: neutralSettings, ...spec };
  return await loadModel(await testBackend(), complete, silentProgress);
}
