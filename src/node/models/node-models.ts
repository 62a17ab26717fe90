/** The models of a node, from a line of its configuration to an engine that answers. */
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import type { ModelConfig } from "../../config/model-schema.ts";
import { isUpstream } from "../../config/model-schema.ts";
import { byteSize } from "../../core/byte-size.ts";
import { given } from "../../core/given.ts";
import type { LoadedModel } from "../../core/models/model.ts";
import type { Quantization } from "../../core/models/model-files.ts";
import type { LoadOptions, ModelHost } from "../../core/ports/model-host.ts";
import { noProgress, shareOf } from "../../core/progress.ts";
import { pickChatFile } from "../../engine/machine/auto-settings.ts";
import { type Machine, readMachineMemory, withinLimit } from "../../engine/machine/machine.ts";
import { type StarterForm, starterForm } from "../../engine/quantization/starter-quantization.ts";
import { modelsFolder } from "../../models/models-folder.ts";
import { hubFrom } from "../../models/sources/hub.ts";
import { autoSource, resolveSource } from "../../models/sources/resolve.ts";
import type { Program } from "../../subprocess/program.ts";
import { BetterForms, type ImproveOptions, type Improving } from "../better-forms.ts";
import { dataDirOf } from "../data-dir.ts";
import { alreadyTranscoded, readFacts, transcoded } from "../engine-on-demand.ts";
import type { OpeningListener, UpstreamModels } from "../gateway/upstream-models.ts";
import {
  isStarterChat,
  type ModelOptions,
  needsStarterForm,
  toMemoryLimit,
  toModelSpec,
  toTranscoding,
} from "../node-settings.ts";
import type { QuietTimes } from "../quiet-times.ts";
import { openLocal, openRunners, type RunnersOptions } from "./model-hosts.ts";

/** Disposing it unloads every model. */
export class NodeModels implements AsyncDisposable {
  readonly #options: ModelOptions;
  readonly #host: ModelHost;
  readonly #resources: AsyncDisposableStack;
  readonly #upstreams: UpstreamModels | undefined;
  readonly #betterForms = new BetterForms();
  /** Settles when the last load that was asked for is over. */
  #lastLoad: Promise<void> = Promise.resolve();

  /** For a node that serves: each model in a process of its own, where that is configured. */
  static async open(options: RunnersOptions, models: readonly ModelConfig[]): Promise<NodeModels> {
    const { isolation } = options.config.engine;
    if (isolation === "none") return await NodeModels.openInProcess(options);
    await using resources = new AsyncDisposableStack();
    const host = resources.use(await openRunners(options, models, resources));
    const upstreams = await upstreamsOf(options, resources);
    return new NodeModels(options, host, upstreams, resources.move());
  }

  /** For work that serves nobody: a crash of the engine ends nothing else. */
  static async openInProcess(options: ModelOptions): Promise<NodeModels> {
    await using resources = new AsyncDisposableStack();
    const host = resources.use(await openLocal(options));
    const upstreams = await upstreamsOf(options, resources);
    return new NodeModels(options, host, upstreams, resources.move());
  }

  private constructor(
    options: ModelOptions,
    host: ModelHost,
    upstreams: UpstreamModels | undefined,
    resources: AsyncDisposableStack,
  ) {
    this.#options = options;
    this.#host = host;
    this.#resources = resources;
    this.#upstreams = upstreams;
  }

  /** The engine and its build; known from the first loaded model on. */
  get engineVersion(): string {
    return this.#host.version;
  }

  /** Threads of all models together. */
  get threads(): number {
    return this.#host.threads;
  }

  /** Opens those that run elsewhere as their servers can be asked; settles when each was tried once. */
  async openUpstreams(
    models: readonly ModelConfig[],
    listener: OpeningListener,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#upstreams?.openAll(models, listener, signal);
  }

  /** Settles when a model that runs elsewhere is there, or never will be. */
  async opened(name: string): Promise<void> {
    await this.#upstreams?.opened(name);
  }

  async load(configured: ModelConfig, loading: LoadOptions): Promise<LoadedModel> {
    if (this.#upstreams !== undefined && isUpstream(configured.source)) {
      return await this.#upstreams.open(configured, loading.signal);
    }
    const folder = this.#folder;
    const model = await this.#chosen(configured, folder);
    // Asked while the model's file is made.
    const form = needsStarterForm(model) ? this.#starterForm(loading) : undefined;
    form?.catch(() => {}); // awaited below, unless the file cannot be had
    const source = await this.#resolve(model.source, loading, model.sha256);
    const transcoding = toTranscoding(model, await form);
    if (transcoding === undefined) return await this.#loadFile(model, source, loading);
    const { type, behind } = transcoding;
    const made = behind ? await alreadyTranscoded(source, { folder, type }) : undefined;
    if (!behind || made !== undefined) {
      const path = made ?? (await this.#transcode(source, type, loading));
      return await this.#loadFile(model, path, loading);
    }
    const loaded = await this.#loadFile(model, source, loading);
    return this.#betterForms.add(loaded, (improving) =>
      this.#improve(model, source, type, improving),
    );
  }

  /** Makes what was left for later, while nobody asks. */
  async improve(options: Omit<ImproveOptions, "log">): Promise<void> {
    await this.#betterForms.improve({ ...options, log: this.#options.log });
  }

  /** Makes the better form of a model that answers already, and loads it beside it. */
  async #improve(
    model: ModelConfig,
    source: string,
    type: Quantization,
    { quiet, signal, onProgress }: Improving,
  ): Promise<LoadedModel | undefined> {
    const { log, config } = this.#options;
    const loading = { progress: noProgress, signal };
    const progress = shareOf((done) => onProgress(model.name, done));
    log.info("a better form of a model is being made; it answers meanwhile", {
      model: model.name,
      form: type,
    });
    const path = await this.#transcode(source, type, { progress, signal }, quiet);
    // What went wrong was said.
    if (path === source) return undefined;
    const { size } = await stat(path);
    const { availableMemory } = await readMachineMemory();
    if (toMemoryLimit(config) !== undefined || availableMemory < size * roomForBoth) {
      log.info("the better form is there, and the next start takes it: there is no room for both", {
        model: model.name,
      });
      return undefined;
    }
    await quiet.wait(signal);
    return await this.#loadFile(model, path, loading);
  }

  /** `quiet`: while nobody asks, on one thread. */
  #transcode(
    source: string,
    type: Quantization,
    loading: LoadOptions,
    quiet?: QuietTimes,
  ): Promise<string> {
    const { program, log } = this.#options;
    const threads = quiet === undefined ? this.#host.threads : 1;
    const folder = this.#folder;
    const options = { type, folder, threads, program, log, ...loading, ...given({ quiet }) };
    return transcoded(source, options);
  }

  async #loadFile(model: ModelConfig, path: string, loading: LoadOptions): Promise<LoadedModel> {
    const { config, log } = this.#options;
    const spec = toModelSpec(model, path, toMemoryLimit(config));
    const own = await this.#oneAtATime(() => this.#host.loadModel(spec, loading));
    const advice = isStarterChat(model)
      ? betterModel(await readMachineMemory(), this.#options.program)
      : undefined;
    const loaded = this.#resources.use(disposedOnce(withAdvice(own, advice)));
    log.info("a model is ready", {
      model: model.name,
      type: model.type,
      file: basename(path),
      ...loaded.card.settings,
    });
    return loaded;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }

  #starterForm({ signal }: LoadOptions): Promise<StarterForm> {
    const { program, log } = this.#options;
    const folder = this.#folder;
    return starterForm({ folder, program, log, signal });
  }

  get #folder(): string {
    const { config, baseDir } = this.#options;
    return modelsFolder(dataDirOf(config, baseDir));
  }

  /** Sizes that are left to the node are chosen by the memory that is free, which another load would change meanwhile. */
  async #oneAtATime<Result>(load: () => Promise<Result>): Promise<Result> {
    const before = this.#lastLoad;
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
    this.#lastLoad = isOver;
    await before;
    try {
      return await load();
    } finally {
      end();
    }
  }

  /** The model with a source to load it from, where that is left to the node. */
  async #chosen(model: ModelConfig, folder: string): Promise<ModelConfig> {
    if (model.source !== "auto") return model;
    const { parallel } = model;
    const limit = toMemoryLimit(this.#options.config);
    const machine = async () => withinLimit(await readMachineMemory(), limit);
    const { source, why } = await autoSource(model.type, {
      folder,
      pickChatFile: (paths) => pickChatFile(paths, { parallel, machine, readFacts }),
    });
    this.#options.log.info("a model was chosen", { model: model.name, source, why });
    return { ...model, source };
  }

  /** The file of a source, fetched or made where it is not there yet. */
  async #resolve(source: string, loading: LoadOptions, sha256?: string): Promise<string> {
    const { baseDir, hub = hubFrom({}), registryOf, log } = this.#options;
    return await resolveSource(source, {
      folder: this.#folder,
      baseDir,
      hub,
      say: (line) => log.info(line),
      ...loading,
      ...given({ sha256: sha256?.toLowerCase(), registryOf }),
    });
  }
}

/** Of a file's size, what must be free to load it beside the one that answers: its context and buffers come to it. */
const roomForBoth = 1.5;

/** Those that the node has already, or opened now; undefined where every model runs on this machine. */
async function upstreamsOf(
  options: ModelOptions,
  resources: AsyncDisposableStack,
): Promise<UpstreamModels | undefined> {
  const { upstreams, config } = options;
  if (upstreams !== undefined) return upstreams;
  if (!config.models.some(({ source }) => isUpstream(source))) return undefined;
  const { UpstreamModels } = await import("../gateway/upstream-models.ts");
  return resources.use(new UpstreamModels(options));
}

const withAdvice = (model: LoadedModel, advice: string | undefined): LoadedModel =>
  advice === undefined ? model : { ...model, card: { ...model.card, advice } };

/** A model that was replaced is disposed then, and must not be again with the others. */
function disposedOnce(model: LoadedModel): LoadedModel {
  let disposing: Promise<void> | undefined;
  return {
    ...model,
    async [Symbol.asyncDispose]() {
      disposing ??= Promise.resolve(model[Symbol.asyncDispose]());
      await disposing;
    },
  };
}

// Says what a weak model cannot do, and how to get a better one that fits the machine's memory.

/** Under free licences, with a context of 4096 tokens for each of four answers; the best first. */
const betterModels = [
  { needs: 12e9, source: "hf:bartowski/Qwen2.5-7B-Instruct-GGUF:Q4_K_M" },
  { needs: 4e9, source: "hf:bartowski/Qwen2.5-1.5B-Instruct-GGUF:Q4_K_M" },
] as const;

/** One line about the starter chat model; without a command where the machine holds no better one. */
export function betterModel(
  { memory }: Pick<Machine, "memory">,
  { command }: Pick<Program, "command">,
): string {
  const weak = "The starter model is small: it is often wrong, and forgets what was asked.";
  const better = betterModels.find(({ needs }) => memory >= needs);
  if (better === undefined) return weak;
  // The executable is one word; from the sources it is Bun that runs it.
  const program = command.length === 1 ? "paddock" : "bun paddock";
  return `${weak} A better one for this machine's ${byteSize(memory)} of memory: ${program} pull ${better.source}`;
}
