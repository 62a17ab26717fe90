/** Loads a GGUF into llama.cpp as a chat, an embedding or a reranking model. */
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import type { LlamaModel } from "node-llama-cpp";
import { knownPrefixes } from "../core/embedding/embedding-prefixes.ts";
import { NodeError, reasonOf } from "../core/errors.ts";
import type { LoadStage } from "../core/models/engine-backends.ts";
import type { LoadedModel, ModelCard, ModelSettings } from "../core/models/model.ts";
import type { ModelSpec } from "../core/ports/model-host.ts";
import type { EmbeddingIdentity } from "../core/ports/passage-repository.ts";
import type { Progress } from "../core/progress.ts";
import type { Backend } from "./backend.ts";
import { LlamaChatEngine } from "./chat-engine.ts";
import { LlamaEmbeddingEngine } from "./embedding-engine.ts";
import { weightsDigest } from "./fingerprint.ts";
import { card, contextSize, type FittedSpec, fingerprintOf } from "./fitted-model.ts";
import { loadWeights } from "./load-weights.ts";
import { calibrateThreads } from "./machine/calibrate-threads.ts";
import { fitSettings } from "./machine/fit-settings.ts";
import { NativeChatContext } from "./native/chat-context.ts";
import { NativeEmbeddingContext } from "./native/embedding-context.ts";
import { chatWrapperFor } from "./prompt/chat-wrappers.ts";
import { PromptTemplate } from "./prompt/prompt-template.ts";
import { proveChat, proveEmbedding } from "./prove-model.ts";
import { asReranker } from "./reranker.ts";

export async function loadModel(
  backend: Backend,
  spec: ModelSpec,
  progress: Progress,
  onStage: (stage: LoadStage) => void = () => {},
): Promise<LoadedModel> {
  const step = progress.step(`Loading ${spec.name}`, 100, "percent");
  try {
    const { mtime } = await stat(spec.path);
    const { settings, why } = await fitSettings(backend, spec);
    const { nGpuLayers } = settings;
    const weights = {
      modelPath: spec.path,
      // Our number is an estimate; the library measures, and may place fewer layers.
      gpuLayers:
        spec.settings.nGpuLayers === "auto" && nGpuLayers > 0 ? { max: nGpuLayers } : nGpuLayers,
    };
    return await loadWeights(backend, weights, step, async (model) => {
      const loaded = await loaders[spec.type](
        backend,
        model,
        { ...spec, settings },
        mtime,
        onStage,
      );
      if (why !== undefined) logChoice(backend, loaded.card, why);
      return loaded;
    });
  } catch (cause) {
    throw new NodeError(
      "unavailable",
      `The model '${spec.name}' cannot be loaded: ${reasonOf(cause)}`,
      { cause },
    );
  }
}

function logChoice({ log }: Backend, { name, settings }: ModelCard, why: string): void {
  const { ctxSize, batchSize, nGpuLayers } = settings;
  log.info("sizes were chosen for the machine", {
    model: name,
    ctx_size: ctxSize,
    batch_size: batchSize,
    n_gpu_layers: nGpuLayers,
    why,
  });
}

async function asChat(
  backend: Backend,
  model: LlamaModel,
  spec: FittedSpec,
  createdAt: Date,
  onStage: (stage: LoadStage) => void,
): Promise<LoadedModel> {
  if (model.fileInfo.architectureMetadata.attention?.causal === false) {
    throw new Error('it is an embedding model; configure it with type = "embedding"');
  }
  const { threads, reason } =
    spec.threads === undefined
      ? await calibrateThreads(backend, model)
      : { threads: spec.threads, reason: "as before" };
  backend.log.info("threads of a chat model", {
    model: spec.name,
    threads: threads.one,
    threads_of_few: threads.few,
    why: reason,
  });
  const context = await model.createContext({
    sequences: spec.parallel,
    contextSize: contextSize(model, spec),
    batchSize: spec.settings.batchSize,
    threads: backend.threads,
  });
  onStage("trial");
  await proveChat(new NativeChatContext(context, model, threads), model, backend);
  onStage("model");
  const template = new PromptTemplate(model, chatWrapperFor(spec.settings.promptTemplate, model));
  const settings: ModelSettings = {
    ...spec.settings,
    ctxSize: context.contextSize,
    batchSize: context.batchSize,
    nGpuLayers: model.gpuLayers,
  };
  const engine = new LlamaChatEngine(model, context, template, {
    maxQueue: spec.maxQueue,
    threads,
  });
  return {
    type: "chat",
    card: card(model, spec, settings, createdAt),
    engine,
    fingerprint: await fingerprintOf(backend, spec, settings, template.name),
    threads,
    async [Symbol.asyncDispose]() {
      await engine.close();
      await model.dispose();
    },
  };
}

async function asEmbedding(
  backend: Backend,
  model: LlamaModel,
  spec: FittedSpec,
  createdAt: Date,
  onStage: (stage: LoadStage) => void,
): Promise<LoadedModel> {
  const size = contextSize(model, spec);
  const create = async (): Promise<NativeEmbeddingContext> =>
    new NativeEmbeddingContext(
      // llama.cpp computes the embedding of a text in a single batch.
      await model.createEmbeddingContext({ contextSize: size, batchSize: size, threads: 1 }),
    );
  const first = await create();
  onStage("trial");
  await proveEmbedding(first, model, backend.threads);
  onStage("model");
  const others = await Promise.all(Array.from({ length: backend.threads - 1 }, create));
  const settings: ModelSettings = {
    ...spec.settings,
    ctxSize: size,
    batchSize: size,
    nGpuLayers: model.gpuLayers,
  };
  const engine = new LlamaEmbeddingEngine(model, [first, ...others], {
    maxTokens: size,
    threads: backend.threads,
  });
  return {
    type: "embedding",
    card: card(model, spec, settings, createdAt),
    engine,
    fingerprint: await fingerprintOf(backend, spec, settings, "none"),
    identity: await identityOf(model, spec),
    async [Symbol.asyncDispose]() {
      await engine.close();
      await model.dispose();
    },
  };
}

/** A collection outlives engine builds and settings, so its identity is that of the weights alone. */
async function identityOf(
  model: LlamaModel,
  { name, path, prefixes = {} }: ModelSpec,
): Promise<EmbeddingIdentity> {
  const { name: ownName, basename: family } = model.fileInfo.metadata.general;
  const known = knownPrefixes([name, ownName ?? "", family ?? "", basename(path)]);
  return {
    model: name,
    fingerprint: (await weightsDigest(path)).slice(0, 32),
    queryPrefix: prefixes.query ?? known.query,
    documentPrefix: prefixes.document ?? known.document,
  };
}

const loaders = { chat: asChat, embedding: asEmbedding, reranker: asReranker } as const;
