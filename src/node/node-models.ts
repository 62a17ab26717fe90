/** The models of a node, from a line of its configuration to an engine that answers. */
import { basename, resolve } from "node:path";
import type { ModelConfig } from "../config/model-schema.ts";
import type { Config } from "../config/schema.ts";
import { given } from "../core/given.ts";
import type { Log } from "../core/log.ts";
import { chooseSettings } from "../core/models/auto-settings.ts";
import { withinLimit } from "../core/models/machine.ts";
import type { LoadedModel } from "../core/models/model.ts";
import { estimateMemory, type ModelFacts, rerankingContext } from "../core/models/model-memory.ts";
import type { LoadOptions, ModelHost } from "../core/ports/model-host.ts";
import type { Reranker } from "../core/ports/reranker.ts";
import type { Telemetry } from "../core/ports/telemetry.ts";
import { readMachineMemory } from "../engine/machine/machine-memory.ts";
import { threadBudget } from "../engine/machine/thread-budget.ts";
import type { TranscodeOptions } from "../engine/quantization/transcode.ts";
import { modelsFolder } from "../models/models-folder.ts";
import { autoSource } from "../models/sources/auto.ts";
import type { Hub } from "../models/sources/hub.ts";
import type { RegistryOf } from "../models/sources/npm/registry-settings.ts";
import { resolveSource } from "../models/sources/resolve.ts";
import type { Work } from "../runner/protocol.ts";
import { RunnerHost, rerankerName } from "../runner/runner-host.ts";
import type { Program } from "../subprocess/program.ts";
import { toMemoryLimit, toModelSpec, toQuantization } from "./node-settings.ts";

export interface NodeModelsOptions {
  config: Config;
  /** What relative paths of the configuration start from. */
  baseDir: string;
  dataDir: string;
  program: Program;
  hub: Hub;
  registryOf?: RegistryOf;
  telemetry: Pick<Telemetry, "runnerRestarted" | "watchMemory">;
  log: Log;
}

/** Disposing it unloads every model. */
export class NodeModels implements AsyncDisposable {
  readonly #options: NodeModelsOptions;
  readonly #host: ModelHost;
  readonly #resources: AsyncDisposableStack;

  /**
   * Opens what the models run in. `isolation`: as configured; what serves nobody else needs no
   * process of their own for them.
   */
  static async open(
    options: NodeModelsOptions,
    models: readonly ModelConfig[],
    isolation = options.config.engine.isolation,
  ): Promise<NodeModels> {
    await using resources = new AsyncDisposableStack();
    const host =
      isolation === "process"
        ? await openRunners(options, models, resources)
        : await openHere(options, models);
    resources.use(host);
    return new NodeModels(options, host, resources.move());
  }

  private constructor(
    options: NodeModelsOptions,
    host: ModelHost,
    resources: AsyncDisposableStack,
  ) {
    this.#options = options;
    this.#host = host;
    this.#resources = resources;
  }

  /** The engine and its build; known from the first loaded model on. */
  get engineVersion(): string {
    return this.#host.version;
  }

  async load(configured: ModelConfig, loading: LoadOptions): Promise<LoadedModel> {
    const { config, dataDir, program, log } = this.#options;
    const folder = modelsFolder(dataDir);
    const model = await this.#chosen(configured, folder);
    const source = await this.#resolve(model.source, loading, model.sha256);
    const type = toQuantization(model);
    const { threads } = this.#host;
    const path =
      type === undefined
        ? source
        : await transcoded(source, { type, folder, threads, program, log, ...loading });
    const loaded = this.#resources.use(
      await this.#host.loadModel(toModelSpec(model, path, toMemoryLimit(config)), loading),
    );
    log.info("a model is ready", {
      model: model.name,
      type: model.type,
      file: basename(path),
      ...loaded.card.settings,
    });
    return loaded;
  }

  async loadReranker(source: string, loading: LoadOptions): Promise<Reranker> {
    const path = await this.#resolve(source, loading);
    return this.#resources.use(await this.#host.loadReranker(path, loading));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }

  /** The model with a source to load it from, where that is left to the node. */
  async #chosen(model: ModelConfig, folder: string): Promise<ModelConfig> {
    if (model.source !== "auto") return model;
    const { parallel } = model;
    const limit = toMemoryLimit(this.#options.config);
    const { source, why } = await autoSource(model.type, {
      folder,
      parallel,
      machine: async () => withinLimit(await readMachineMemory(), limit),
      readFacts,
    });
    this.#options.log.info("a model was chosen", { model: model.name, source, why });
    return { ...model, source };
  }

  /** The file of a source, fetched or made where it is not there yet. */
  async #resolve(source: string, loading: LoadOptions, sha256?: string): Promise<string> {
    const { baseDir, dataDir, hub, registryOf, log } = this.#options;
    const folder = modelsFolder(dataDir);
    return await resolveSource(source, {
      folder,
      baseDir,
      hub,
      say: (line) => log.info(line),
      ...loading,
      ...given({ sha256: sha256?.toLowerCase(), registryOf }),
    });
  }
}

async function openRunners(
  { config, baseDir, program, telemetry, log }: NodeModelsOptions,
  models: readonly ModelConfig[],
  resources: AsyncDisposableStack,
): Promise<ModelHost> {
  const { threads, reason } = await threadBudget(config.engine.threads);
  log.info("models run in processes of their own", { threads, why: reason });
  const limit = toMemoryLimit(config);
  const host = new RunnerHost({
    program,
    engine: { ...engineSettings(config, baseDir, models), threads },
    log,
    ...(limit === undefined
      ? {}
      : { memory: { limit, bytesOf: (work) => memoryOf(work, threads) } }),
    heartbeatTimeoutMs: config.engine.heartbeat_timeout * 1000,
    onRestart: (model, why) => telemetry.runnerRestarted(model, why),
  });
  const names = models.map(({ name }) => name);
  if (config.retrieval.reranker !== undefined) names.push(rerankerName);
  for (const name of names) {
    resources.use(telemetry.watchMemory(name, () => host.residentBytes(name)));
  }
  return host;
}

/** The engine's libraries are loaded by what needs them: a node whose models run elsewhere has them not. */
async function openHere(
  { config, baseDir, log }: NodeModelsOptions,
  models: readonly ModelConfig[],
): Promise<ModelHost> {
  const { openLocalHost } = await import("../engine/local-host.ts");
  return await openLocalHost({ ...engineSettings(config, baseDir, models), log });
}

const engineSettings = (
  { engine }: Config,
  baseDir: string,
  models: readonly ModelConfig[],
): { threads: number; accelerator: boolean; gpuLibraries?: string } => ({
  threads: engine.threads,
  accelerator: models.some(({ n_gpu_layers: layers }) => layers !== 0),
  ...(engine.gpu_libraries === undefined
    ? {}
    : { gpuLibraries: resolve(baseDir, engine.gpu_libraries) }),
});

const readFacts = async (path: string): Promise<ModelFacts> =>
  await (await import("../engine/gguf/model-facts.ts")).readModelFacts(path);

const transcoded = async (path: string, options: TranscodeOptions): Promise<string> =>
  await (await import("../engine/quantization/transcode.ts")).transcode(path, options);

/** What a model will take, with the sizes that it would be given now; `threads`: contexts of one that reads texts. */
async function memoryOf(work: Work, threads: number): Promise<number> {
  if (work.type === "reranker") {
    const facts = await readFacts(work.path);
    const contextSize = rerankingContext(facts.trainContext);
    const demand = { contextSize, parallel: threads, batchSize: contextSize };
    return estimateMemory(facts, demand).total;
  }
  const { type, path, settings, parallel, memoryLimit } = work.spec;
  const facts = await readFacts(path);
  const contexts = type === "chat" ? parallel : threads;
  const machine = withinLimit(await readMachineMemory(), memoryLimit);
  const sizes = chooseSettings({ facts, machine, wanted: settings, parallel: contexts });
  const { ctxSize: contextSize } = sizes;
  // A text is read at once.
  const batchSize = type === "chat" ? sizes.batchSize : contextSize;
  return estimateMemory(facts, { contextSize, parallel: contexts, batchSize }).total;
}
