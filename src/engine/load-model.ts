/** Loads models into this process, inside a runner or in a command that does not serve: chat, embedding or reranking. */
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import type { LlamaModel, LlamaRankingContext, Token } from "node-llama-cpp";
import { knownPrefixes } from "../core/embedding/embedding-prefixes.ts";
import { NodeError, reasonOf } from "../core/errors.ts";
import { describeBackend, type LoadStage, notFinite } from "../core/models/engine-backends.ts";
import type { LoadedModel, ModelSettings } from "../core/models/model.ts";
import type { ModelHost, ModelSpec } from "../core/ports/model-host.ts";
import type { EmbeddingIdentity } from "../core/ports/passage-repository.ts";
import type { Reranker } from "../core/ports/reranker.ts";
import type { Progress } from "../core/progress.ts";
import { LlamaChatEngine } from "./chat-engine.ts";
import { LlamaEmbeddingEngine } from "./embedding-engine.ts";
import { fingerprint, weightsDigest } from "./fingerprint.ts";
import { readModelFacts, readModelParts } from "./gguf/model-facts.ts";
import { type Backend, type BackendOptions, openBackend } from "./load-backend.ts";
import { type Machine, readMachineMemory, withinLimit } from "./machine/machine.ts";
import { chooseSettings, defaultContext } from "./machine/model-memory.ts";
import { type StepReport, StepThreads } from "./machine/steps.ts";
import { NativeChatContext, NativeEmbeddingContext } from "./native/contexts.ts";
import { chatWrapperFor, PromptTemplate } from "./prompt/prompt-template.ts";
import { LlamaReranker } from "./reranker.ts";

export interface LocalHost extends ModelHost {
  /** Sets how many threads all models of this process may use from now on. */
  useThreads(most: number): void;
  steps(): StepReport;
}

export async function openLocalHost(options: BackendOptions): Promise<LocalHost> {
  const backend = await openBackend(options);
  return {
    version: describeBackend(backend.version, options.rejected ?? []),
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
    await readModelParts(path);
    onStage("model");
    const { settings, why } = await fitSettings(backend, spec);
    const { nGpuLayers } = settings;
    const model = await backend.llama.loadModel({
      modelPath: path,
      // Our number is an estimate; the library measures, and may place fewer layers.
      gpuLayers:
        spec.settings.nGpuLayers === "auto" && nGpuLayers > 0 ? { max: nGpuLayers } : nGpuLayers,
      onLoadProgress: (loaded: number) => step.update(Math.floor(loaded * 100)),
    });
    try {
      const weights = await weightsDigest(path);
      const loading = { backend, model, spec: { ...spec, settings }, weights, onStage };
      const { sizes, template = "none", ...own } = await makers[type](loading);
      const actual = { ...settings, ...sizes, nGpuLayers: model.gpuLayers };
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
        card: { name, type, createdAt, ownedBy, settings: actual },
        fingerprint: fingerprint({ weights, engine: backend.version, settings: actual, template }),
        async [Symbol.asyncDispose]() {
          await own.engine.close();
          await model.dispose();
        },
      };
    } catch (error) {
      await model.dispose();
      throw error;
    }
  } catch (cause) {
    throw new NodeError("unavailable", `The model '${name}' cannot be loaded: ${reasonOf(cause)}`, {
      cause,
    });
  }
}

/** Chooses the `auto` settings from the model's file and the machine's memory; `why` is absent if there are none. */
async function fitSettings(
  backend: Backend,
  spec: ModelSpec,
): Promise<{ settings: ModelSettings; why?: string }> {
  const { settings: wanted, path, type, parallel } = spec;
  const { ctxSize, batchSize } = wanted;
  // The CPU backend has no layers on an accelerator.
  const nGpuLayers = backend.name === "cpu" ? 0 : wanted.nGpuLayers;
  if (ctxSize !== "auto" && batchSize !== "auto" && nGpuLayers !== "auto") {
    return { settings: { ...wanted, ctxSize, batchSize, nGpuLayers } };
  }
  const { why, ...chosen } = chooseSettings({
    facts: await readModelFacts(path),
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
}

type FittedSpec = ModelSpec & { settings: ModelSettings };

type Made = (
  | { type: "chat"; engine: LlamaChatEngine }
  | { type: "embedding"; engine: LlamaEmbeddingEngine; identity: EmbeddingIdentity }
  | { type: "reranker"; engine: LlamaReranker }
) & { sizes: Pick<ModelSettings, "ctxSize" | "batchSize">; template?: string };

async function makeChat({ backend, model, spec, onStage }: Loading): Promise<Made> {
  if (model.fileInfo.architectureMetadata.attention?.causal === false) {
    throw new Error('it is an embedding model; configure it with type = "embedding"');
  }
  const say = (count: number, why: string): void =>
    backend.log.info("threads of a chat model", { model: spec.name, threads: count, why });
  const options = { size: model.size, budget: backend.threads };
  const threads = new StepThreads({ ...options, onChange: say });
  say(threads.start.threads, threads.start.why);
  const context = await model.createContext({
    sequences: spec.parallel,
    contextSize: contextSize(model, spec),
    batchSize: spec.settings.batchSize,
    threads: backend.threads,
  });
  onStage("trial");
  await proveChat(new NativeChatContext(context, model, new StepThreads(options)), model, backend);
  onStage("model");
  const template = new PromptTemplate(model, chatWrapperFor(spec.settings.promptTemplate, model));
  const { maxQueue } = spec;
  const { steps } = backend;
  return {
    type: "chat",
    engine: new LlamaChatEngine(model, context, template, { maxQueue, threads, steps }),
    sizes: { ctxSize: context.contextSize, batchSize: context.batchSize },
    template: template.name,
  };
}

async function makeEmbedding({ backend, model, spec, weights, onStage }: Loading): Promise<Made> {
  const size = contextSize(model, spec);
  const create = async (): Promise<NativeEmbeddingContext> =>
    new NativeEmbeddingContext(
      // llama.cpp computes the embedding of a text in a single batch.
      await model.createEmbeddingContext({ contextSize: size, batchSize: size, threads: 1 }),
    );
  const first = await create();
  onStage("trial");
  await proveEmbedding(first, model, backend);
  onStage("model");
  const { threads, steps } = backend;
  const others = await Promise.all(Array.from({ length: threads - 1 }, create));
  const options = { maxTokens: size, threads, steps };
  return {
    type: "embedding",
    engine: new LlamaEmbeddingEngine(model, [first, ...others], options),
    identity: identityOf(model, spec, weights),
    sizes: { ctxSize: size, batchSize: size },
  };
}

async function makeReranker({ backend, model, spec, onStage }: Loading): Promise<Made> {
  const size = contextSize(model, spec);
  const create = (): Promise<LlamaRankingContext> =>
    model.createRankingContext({ contextSize: size, batchSize: size, threads: 1 });
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

/** On an accelerator a prompt is computed by other kernels than the one token after it; on a CPU it costs time. */
const promptTokens = { accelerator: 16, cpu: 2 };
const trialText = "Hello, world";

/** Computes once at load: a library that does not fit its driver fails at the first computation. */
async function proveChat(
  native: NativeChatContext,
  model: LlamaModel,
  { name, steps }: Pick<Backend, "name" | "steps">,
): Promise<void> {
  const wanted = name === "cpu" ? promptTokens.cpu : promptTokens.accelerator;
  const prompt = promptOf(model, Math.min(wanted, native.batchSize, native.contextSize - 1));
  const sampler = native.makeSampler();
  try {
    sampler.configure({ temperature: 0, seed: 0 });
    let tokens: readonly Token[] = prompt;
    for (const position of [0, prompt.length]) {
      // Timed, so that the first prompt does not count as hung on a slow machine.
      const [output] = await steps.run(tokens.length, () =>
        native.decode([{ sequence: 0, position, tokens, output: true }]),
      );
      if (output === undefined) throw new Error("nothing was computed");
      const { token, logit, weight } = await sampler.sampleWithLogits(output, 1);
      checkFinite([logit, weight]);
      tokens = [token];
    }
  } finally {
    sampler.dispose();
    native.truncate(0, 0);
    native.releaseThreads();
  }
}

async function proveEmbedding(
  context: NativeEmbeddingContext,
  model: LlamaModel,
  { threads, steps }: Pick<Backend, "threads" | "steps">,
): Promise<void> {
  const tokens = context.withMarkers(model.tokenize(trialText));
  const { vector } = await steps.run(tokens.length, () => context.embed(tokens, threads));
  checkFinite(vector);
}

async function proveReranker(reranker: Reranker): Promise<void> {
  const { signal } = new AbortController();
  const { scores } = await reranker.rank(trialText, [trialText], { signal, cutsQuestion: true });
  checkFinite(scores);
}

function promptOf(model: LlamaModel, length: number): Token[] {
  const tokens = model.tokenize(trialText);
  const [first] = tokens.length > 0 ? tokens : model.iterateAllTokens();
  if (first === undefined) throw new Error("it has no tokens");
  return Array.from(
    { length: Math.max(1, length) },
    (_, at) => tokens[at % tokens.length] ?? first,
  );
}

function checkFinite(numbers: Iterable<number>): void {
  for (const number of numbers) {
    if (!Number.isFinite(number)) throw new Error(notFinite);
  }
}
