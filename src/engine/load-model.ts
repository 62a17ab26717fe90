/** Loads models into this process, inside a runner or in a command that does not serve: chat, embedding or reranking. */
import { stat } from "node:fs/promises";
import type { LlamaContext } from "node-llama-cpp";
import { NodeError, reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import { describeBackend, type LoadStage } from "../core/models/engine-backends.ts";
import type { LoadedModel, ModelSettings } from "../core/models/model.ts";
import type { ModelHost, ModelSpec } from "../core/ports/model-host.ts";
import type { Progress } from "../core/progress.ts";
import { fingerprint, weightsDigest } from "./fingerprint.ts";
import { modelFacts } from "./gguf/model-facts.ts";
import { type Backend, type BackendOptions, openBackend } from "./load-backend.ts";
import { type Machine, readMachineMemory, withinLimit } from "./machine/machine.ts";
import { chooseSettings, type ModelFacts, weightsOf } from "./machine/model-memory.ts";
import type { StepReport } from "./machine/steps.ts";
import { type Loading, makers } from "./make-engine.ts";

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
    const weights = await weightsDigest(path);
    onStage("model");
    const { settings, why } = await fitSettings(backend, spec, facts);
    const { nGpuLayers } = settings;
    const { accelerator } = await machineOf(backend);
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
      // Vectors of the former file would count as the new one's.
      if ((await weightsDigest(path)) !== weights) {
        throw new Error("its file was replaced while it was loaded. Load it again");
      }
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
          ...given({ acceleratorFree: accelerator?.availableMemory }),
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
