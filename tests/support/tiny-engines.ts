/** The real engines on the tiny models, behind their ports. */
import { availableParallelism } from "node:os";
import type {
  ChatModel,
  EmbeddingModel,
  LoadedModel,
  ModelSettings,
} from "../../src/core/models/model.ts";
import type { ModelSpec } from "../../src/core/ports/model-host.ts";
import { type Backend, openBackend } from "../../src/engine/backend.ts";
import { loadModel } from "../../src/engine/load-model.ts";
import { RunnerHost, type RunnerHostOptions } from "../../src/runner/runner-host.ts";
import { engineEnvironment } from "../../src/subprocess/program.ts";
import { backendsToTry } from "./backends-to-try.ts";
import { mainFile } from "./paddock-process.ts";
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
  minP: 0,
};

/** Where a model can run; the ports promise the same everywhere. */
export const places = ["this process", "a process of its own"] as const;
export type Place = (typeof places)[number];

let backend: Promise<Backend> | undefined;

/** The one llama.cpp of the test run; it ends with the process. */
export function testBackend(): Promise<Backend> {
  backend ??= openBackend({ threads: 0, backend: "cpu", log: silentLog });
  return backend;
}

export async function tinyChatModel(
  overrides: Partial<ModelSpec> = {},
  place?: Place,
): Promise<ChatModel> {
  const { chat } = await tinyModels();
  const model = await load({ name: "tiny", type: "chat", path: chat, ...overrides }, place);
  if (model.type !== "chat") throw new Error("not a chat model");
  return model;
}

export async function tinyEmbeddingModel(
  overrides: Partial<ModelSpec> = {},
  place?: Place,
): Promise<EmbeddingModel> {
  const { embedding } = await tinyModels();
  const settings = { ...neutralSettings, ctxSize: 0 };
  const spec = { name: "tiny", type: "embedding", path: embedding, settings } as const;
  const model = await load({ ...spec, ...overrides }, place);
  if (model.type !== "embedding") throw new Error("not an embedding model");
  return model;
}

async function load(
  spec: Pick<ModelSpec, "name" | "type" | "path"> & Partial<ModelSpec>,
  place: Place = "this process",
): Promise<LoadedModel> {
  const complete = tinySpec(spec);
  if (place === "this process") {
    return await loadModel(await testBackend(), complete, silentProgress);
  }
  const { signal } = new AbortController();
  return await testRunners().loadModel(complete, { progress: silentProgress, signal });
}

export const tinySpec = (
  spec: Pick<ModelSpec, "name" | "type" | "path"> & Partial<ModelSpec>,
): ModelSpec => ({ parallel: 2, maxQueue: 64, settings: neutralSettings, ...spec });

/** Models in processes of this repository's program. */
export function testRunners(options: Partial<RunnerHostOptions> = {}): RunnerHost {
  return new RunnerHost({
    program: { command: [process.execPath, mainFile], env: engineEnvironment(process.env) },
    engine: { threads: availableParallelism() },
    accelerators: backendsToTry("cpu"),
    heartbeatTimeoutMs: 30_000,
    log: silentLog,
    ...options,
  });
}
