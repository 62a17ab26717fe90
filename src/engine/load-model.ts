/** Loads models into this process, inside a runner or in a command that does not serve: chat, embedding or reranking. */
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import type {
  LlamaContext,
  LlamaContextOptions,
  LlamaModel,
  LlamaRankingContext,
  Token,
} from "node-llama-cpp";
import { knownPrefixes } from "../core/embedding/embedding-prefixes.ts";
import { NodeError, reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import { describeBackend, type LoadStage } from "../core/models/engine-backends.ts";
import type { ContextSettings, LoadedModel, ModelSettings } from "../core/models/model.ts";
import type { ModelHost, ModelSpec } from "../core/ports/model-host.ts";
import type { EmbeddingIdentity } from "../core/ports/passage-repository.ts";
import type { Progress } from "../core/progress.ts";
import { LlamaChatEngine } from "./chat-engine.ts";
import { LlamaEmbeddingEngine } from "./embedding-engine.ts";
import { fingerprint, weightsDigest } from "./fingerprint.ts";
import { ggmlNames, modelFacts } from "./gguf/model-facts.ts";
import { type Backend, type BackendOptions, openBackend } from "./load-backend.ts";
import { type Machine, readMachineMemory, withinLimit } from "./machine/machine.ts";
import {
  chooseSettings,
  defaultContext,
  type ModelFacts,
  weightsOf,
} from "./machine/model-memory.ts";
import { type StepReport, StepThreads } from "./machine/steps.ts";
import { NativeEmbeddingContext } from "./native/contexts.ts";
import { openDirectEmbedding } from "./native/direct-embedding-context.ts";
import { chatWrapperFor, PromptTemplate } from "./prompt/prompt-template.ts";
import { proveChat, proveEmbedding, proveReranker } from "./prove-model.ts";
import { LlamaReranker } from "./reranker.ts";

export interface LocalHost extends ModelHost {
  /** Sets how many threads all models of this process may use from now on. */
  useThreads(most: number): void;
  steps(): StepReport;
}

export async function openLocalHost(options: BackendOptions): Promise<LocalHost> {
  const backend = await openBackend(options);
  return {
    get version() {
      return describeBackend(backend.version, options.rejected ?? []);
    },
    threads: backend.threads,
    loadModel: (spec, { progress, onStage }) => loadModel(backend, spec, progress, onStage),
    steps: () => backend.steps.report(),
    useThreads(most) {
      backend.llama.maxThreads = most;
    },
    [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
  };
}

export async function loadModel(
  backend: Backend,
  spec: ModelSpec,
  progress: Progress,
  onStage: (stage: LoadStage) => void = () => {},
): Promise<LoadedModel> {
  const { name, type, path } = spec;
  const step = progress.step(`Loading ${name}`, 100, "percent");
  try {
    onStage("file");
    // A malformed header is refused before llama.cpp reads it, which has fewer checks.
    const facts = await modelFacts(path, spec.settings.context);
    onStage("model");
    const { settings, why } = await fitSettings(backend, spec, facts);
    const { nGpuLayers } = settings;
    const model = await backend.llama.loadModel({
      modelPath: path,
      // Our number is an estimate; the library measures, and may place fewer layers.
      gpuLayers:
        spec.settings.nGpuLayers === "auto" && nGpuLayers > 0 ? { max: nGpuLayers } : nGpuLayers,
      onLoadProgress: (loaded: number) => step.update(Math.floor(loaded * 100)),
    });
    const contexts: Pick<LlamaContext, "dispose">[] = [];
    const dispose = async (): Promise<void> => {
      await Promise.all(contexts.map((context) => context.dispose()));
      await model.dispose();
    };
    const keep: Loading["keep"] = (context) => {
      contexts.push(context);
      return context;
    };
    try {
      const weights = await weightsDigest(path);
      const loading = { backend, model, spec: { ...spec, settings }, weights, onStage, keep };
      const { sizes, template = "none", thinks, ...own } = await makers[type](loading);
      const actual: ModelSettings = { ...settings, ...sizes, nGpuLayers: model.gpuLayers };
      if (why !== undefined) {
        backend.log.info("sizes were chosen for the machine", {
          model: name,
          ctx_size: actual.ctxSize,
          batch_size: actual.batchSize,
          n_gpu_layers: actual.nGpuLayers,
          why,
        });
      }
      const { mtime: createdAt } = await stat(path);
      const ownedBy = model.fileInfo.metadata.general.author ?? "paddock";
      step.finish();
      return {
        ...own,
        card: {
          ...{ name, type, createdAt, ownedBy, settings: actual },
          ...{ weights: weightsOf(facts), ...given({ thinks }) },
        },
        fingerprint: fingerprint({
          ...{ weights, engine: backend.version, template },
          settings: await withDigests(actual),
        }),
        async [Symbol.asyncDispose]() {
          await own.engine.close();
          await dispose();
        },
      };
    } catch (error) {
      await dispose();
      throw error;
    }
  } catch (cause) {
    throw new NodeError("unavailable", `The model '${name}' cannot be loaded: ${reasonOf(cause)}`, {
      cause,
    });
  }
}

/** Adapters by what is in their files, not by where they are. */
async function withDigests({ context, ...settings }: ModelSettings): Promise<object> {
  if (context === undefined) return settings;
  const lora = await Array.fromAsync(context.lora, async ({ path, scale }) => ({
    weights: await weightsDigest(path),
    scale,
  }));
  return { ...settings, context: { ...context, lora } };
}

/** Chooses the `auto` settings from the model's file and the machine's memory; `why` is absent if there are none. */
async function fitSettings(
  backend: Backend,
  spec: ModelSpec,
  facts: ModelFacts,
): Promise<{ settings: ModelSettings; why?: string }> {
  const { settings: wanted, type, parallel } = spec;
  const { ctxSize, batchSize } = wanted;
  // The CPU backend has no layers on an accelerator.
  const nGpuLayers = backend.name === "cpu" ? 0 : wanted.nGpuLayers;
  if (ctxSize !== "auto" && batchSize !== "auto" && nGpuLayers !== "auto") {
    return { settings: { ...wanted, ctxSize, batchSize, nGpuLayers } };
  }
  const { why, ...chosen } = chooseSettings({
    facts,
    machine: withinLimit(await machineOf(backend), spec.memoryLimit),
    wanted: { ctxSize, batchSize, nGpuLayers },
    parallel: type === "chat" ? parallel : backend.threads,
  });
  return { settings: { ...wanted, ...chosen }, why };
}

async function machineOf({ llama, name }: Backend): Promise<Machine> {
  const machine = await readMachineMemory();
  if (name === "cpu") return machine;
  const { total, free } = await llama.getVramState();
  return { ...machine, accelerator: { memory: total, availableMemory: free } };
}

/** Loaded weights, to become an engine; every `auto` setting is chosen. */
interface Loading {
  backend: Backend;
  model: LlamaModel;
  spec: FittedSpec;
  weights: string;
  onStage: (stage: LoadStage) => void;
  /** For every context: the library forgets one that was garbage-collected, and a model's disposal then waits for it for ever. */
  keep: <Context extends Pick<LlamaContext, "dispose">>(context: Context) => Context;
}

type FittedSpec = ModelSpec & { settings: ModelSettings };

type Made = (
  | { type: "chat"; engine: LlamaChatEngine }
  | { type: "embedding"; engine: LlamaEmbeddingEngine; identity: EmbeddingIdentity }
  | { type: "reranker"; engine: LlamaReranker }
) & {
  sizes: Pick<ModelSettings, "ctxSize" | "batchSize">;
  template?: string;
  thinks?: boolean;
};

async function makeChat({ backend, model, spec, onStage, keep }: Loading): Promise<Made> {
  if (model.fileInfo.architectureMetadata.attention?.causal === false) {
    throw new Error('it is an embedding model; configure it with type = "embedding"');
  }
  const say = (count: number, why: string): void =>
    backend.log.info("threads of a chat model", { model: spec.name, threads: count, why });
  const stepThreads = new StepThreads({
    size: model.size,
    budget: backend.threads,
    onChange: say,
  });
  say(stepThreads.start.threads, stepThreads.start.why);
  const { batchSize, context: wanted } = spec.settings;
  const context = await model
    .createContext({
      sequences: spec.parallel,
      contextSize: contextSize(model, spec),
      batchSize,
      threads: backend.threads,
      ...(wanted && contextOptions(wanted)),
    })
    .catch((cause: unknown) => {
      throw new Error(`${reasonOf(cause)}${wanted === undefined ? "" : demandsOf(wanted)}`, {
        cause,
      });
    });
  keep(context);
  onStage("trial");
  const direct = await proveChat(context, model, backend);
  onStage("model");
  const template = new PromptTemplate(model, chatWrapperFor(spec.settings.promptTemplate, model));
  const { maxQueue } = spec;
  const { steps } = backend;
  return {
    type: "chat",
    engine: new LlamaChatEngine(model, context, template, { maxQueue, stepThreads, steps, direct }),
    sizes: { ctxSize: context.contextSize, batchSize: context.batchSize },
    template: template.name,
    thinks: template.hasThoughts,
  };
}

function contextOptions(settings: ContextSettings): LlamaContextOptions {
  const { cacheTypeK, cacheTypeV, flashAttention, lora } = settings;
  return {
    experimentalKvCacheKeyType: ggmlNames[cacheTypeK],
    experimentalKvCacheValueType: ggmlNames[cacheTypeV],
    // Without the option, the library knows models that cannot.
    ...(flashAttention !== "auto" && { flashAttention: flashAttention === "on" }),
    lora: { adapters: lora.map(({ path: filePath, scale }) => ({ filePath, scale })) },
  };
}

/** What a context that cannot be made may lack: llama.cpp gives its reason to the log only. */
function demandsOf({ cacheTypeK, cacheTypeV, lora }: ContextSettings): string {
  const heads = "needs attention heads with a multiple of 32 values";
  const demands = [
    cacheTypeK === "f16" ? [] : `cache_type_k = '${cacheTypeK}' ${heads}`,
    cacheTypeV === "f16" ? [] : `cache_type_v = '${cacheTypeV}' ${heads}, and flash attention`,
    lora.length === 0 ? [] : "lora needs adapters in GGUF that were made for this model",
  ].flat();
  return demands.length === 0 ? "" : ` (${demands.join("; ")}; llama.cpp's reason is in the log)`;
}

async function makeEmbedding(loading: Loading): Promise<Made> {
  const { backend, model, spec, weights, onStage, keep } = loading;
  const size = contextSize(model, spec);
  const create = async (): Promise<NativeEmbeddingContext> =>
    new NativeEmbeddingContext(
      // llama.cpp computes the embedding of a text in a single batch.
      keep(await model.createEmbeddingContext({ contextSize: size, batchSize: size, threads: 1 })),
    );
  const first = await create();
  onStage("trial");
  const proof = await proveEmbedding(first, model, backend);
  onStage("model");
  const { threads, steps, servesModelsAlone: mayWait } = backend;
  const markers = (tokens: readonly Token[]): Token[] => first.withMarkers(tokens);
  const options = { maxTokens: size, threads, steps, markers };
  const direct = await openDirectEmbedding(loading, size, proof);
  if (direct !== undefined) await first.dispose();
  const rest = direct ?? {
    contexts: [first, ...(await Promise.all(Array.from({ length: threads - 1 }, create)))] as const,
  };
  return {
    type: "embedding",
    engine: new LlamaEmbeddingEngine(model, rest.contexts, { ...options, ...rest, mayWait }),
    identity: identityOf(model, spec, weights),
    sizes: { ctxSize: size, batchSize: size },
  };
}

async function makeReranker({ backend, model, spec, onStage, keep }: Loading): Promise<Made> {
  const size = contextSize(model, spec);
  const create = async (): Promise<LlamaRankingContext> =>
    keep(await model.createRankingContext({ contextSize: size, batchSize: size, threads: 1 }));
  const contexts = await Promise.all(Array.from({ length: backend.threads }, create));
  onStage("trial");
  const engine = new LlamaReranker(model, contexts, { maxTokens: size, steps: backend.steps });
  await proveReranker(engine);
  onStage("model");
  return { type: "reranker", engine, sizes: { ctxSize: size, batchSize: size } };
}

const makers = { chat: makeChat, embedding: makeEmbedding, reranker: makeReranker } as const;

/** A collection outlives engine builds and settings, so its identity is that of the weights alone. */
function identityOf(
  model: LlamaModel,
  { name, path, prefixes = {} }: ModelSpec,
  weights: string,
): EmbeddingIdentity {
  const { name: ownName, basename: family } = model.fileInfo.metadata.general;
  const known = knownPrefixes([name, ownName ?? "", family ?? "", basename(path)]);
  return {
    model: name,
    fingerprint: weights.slice(0, 32),
    queryPrefix: prefixes.query ?? known.query,
    documentPrefix: prefixes.document ?? known.document,
  };
}

function contextSize(model: LlamaModel, { settings, type }: FittedSpec): number {
  if (settings.ctxSize === 0) return defaultContext(model.trainContextSize, type);
  if (settings.ctxSize > model.trainContextSize) {
    throw new Error(
      `ctx_size is ${settings.ctxSize}, but it was trained on ${model.trainContextSize} tokens`,
    );
  }
  return settings.ctxSize;
}
