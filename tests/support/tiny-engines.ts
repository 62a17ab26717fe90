/** The real engines on the tiny models, behind their ports. */
import type {
  ChatModel,
  EmbeddingModel,
  LoadedModel,
  RerankingModel,
} from "../../src/core/models/model.ts";
import type { ModelSpec } from "../../src/core/ports/model-host.ts";
import { type Backend, openBackend } from "../../src/engine/load-backend.ts";
import { loadModel } from "../../src/engine/load-model.ts";
import type { Upstream } from "../../src/gateway/upstream/ask.ts";
import { openUpstreamModel } from "../../src/gateway/upstream/open-model.ts";
import { RunnerHost, type RunnerHostOptions } from "../../src/runner/runner-host.ts";
import { engineEnvironment } from "../../src/subprocess/program.ts";
import { backendsToTry } from "./backends-to-try.ts";
import { neutralSettings } from "./neutral-settings.ts";
import { oneReplica } from "./one-replica.ts";
import { programUnderTest } from "./paddock-process.ts";
import { silentLog, silentProgress } from "./silence.ts";
import { tinyModels } from "./tiny-models.ts";
import { listeningNode, tinyConfig, tinyRerankerSection } from "./tiny-node.ts";

export { neutralSettings };

/** Where a model can run; the ports promise the same everywhere. */
export const places = ["this process", "a process of its own"] as const;
/** And on another machine, behind HTTP; there is no line of callers, and no count of tokens. */
export const allPlaces = [...places, "another node"] as const;
export type Place = (typeof allPlaces)[number];

let backend: Promise<Backend> | undefined;

/** PADDOCK_TEST_STEPS=addon: models are driven through node-llama-cpp, as where llama.cpp's C interface does not work. */
const nativeSteps = process.env.PADDOCK_TEST_STEPS !== "addon";

/** The one llama.cpp of the test run; it ends with the process. */
export function testBackend(): Promise<Backend> {
  backend ??= openBackend({ threads: 1, backend: "cpu", nativeSteps, log: silentLog });
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

export async function tinyRerankingModel(
  overrides: Partial<ModelSpec> = {},
  place?: Place,
): Promise<RerankingModel> {
  const { reranker } = await tinyModels();
  const settings = { ...neutralSettings, ctxSize: 0 };
  const spec = { name: "tiny", type: "reranker", path: reranker, settings } as const;
  const model = await load({ ...spec, ...overrides }, place);
  if (model.type !== "reranker") throw new Error("not a reranking model");
  return model;
}

async function load(
  spec: Pick<ModelSpec, "name" | "type" | "path"> & Partial<ModelSpec>,
  place: Place = "this process",
): Promise<LoadedModel> {
  const complete = tinySpec(spec);
  if (place === "another node") return await upstreamModel(complete);
  if (place === "this process") {
    return await loadModel(await testBackend(), complete, silentProgress);
  }
  const { signal } = new AbortController();
  return await testRunners().loadModel(complete, { progress: silentProgress, signal });
}

/** The model of another node, which ends with it. */
async function upstreamModel(spec: ModelSpec): Promise<LoadedModel> {
  const { type, name, parallel, settings } = spec;
  const { ctxSize, batchSize } = settings;
  await using resources = new AsyncDisposableStack();
  const chatSettings = `ctx_size = ${ctxSize}\nbatch_size = ${batchSize}\nparallel = ${parallel}`;
  const more = type === "reranker" ? await tinyRerankerSection() : "";
  const node = resources.use(await listeningNode((await tinyConfig(chatSettings)) + more));
  const target: Upstream = {
    named: `the model '${name}'`,
    upstreamModel: `tiny-${type}`,
    silenceMs: 60_000,
    replicas: oneReplica(node.baseUrl),
    log: silentLog,
  };
  const upstream = { name, type, settings: { ...neutralSettings, ctxSize: 0 } };
  const { signal } = new AbortController();
  const model = resources.use(await openUpstreamModel(upstream, target, signal));
  const owned = resources.move();
  return { ...model, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

export const tinySpec = (
  spec: Pick<ModelSpec, "name" | "type" | "path"> & Partial<ModelSpec>,
): ModelSpec => ({ parallel: 2, maxQueue: 64, settings: neutralSettings, ...spec });

/** Models in processes of this repository's program. */
export function testRunners(options: Partial<RunnerHostOptions> = {}): RunnerHost {
  return new RunnerHost({
    program: { command: programUnderTest, env: engineEnvironment(process.env) },
    engine: { threads: 1, nativeSteps },
    accelerators: backendsToTry("cpu"),
    heartbeatTimeoutMs: 30_000,
    stepTimeoutMs: 60_000,
    log: silentLog,
    ...options,
  });
}
