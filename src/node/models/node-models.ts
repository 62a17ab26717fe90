/** Loads a node's models: resolves the configured source, quantizes it and starts the engine. */
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { isUpstream, type ModelConfig } from "../../config/model-schema.ts";
import { byteSize } from "../../core/byte-size.ts";
import { reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { LoadedModel } from "../../core/models/model.ts";
import type { Quantization } from "../../core/models/model-files.ts";
import type { LoadOptions, ModelHost } from "../../core/ports/model-host.ts";
import { shareOf } from "../../core/progress.ts";
import { type Machine, readMachineMemory, withinLimit } from "../../engine/machine/machine.ts";
import { pickChatFile, readFacts } from "../../engine/machine/model-memory.ts";
import { findQuantized, quantizeModel } from "../../engine/quantization/quantize-model.ts";
import { modelsFolder } from "../../models/models-folder.ts";
import { hubFrom } from "../../models/sources/hub-reference.ts";
import { autoSource, resolveSource } from "../../models/sources/resolve.ts";
import type { Program } from "../../subprocess/program.ts";
import type { QuietTimes } from "../documents/quiet-times.ts";
import type { UpstreamModels } from "../gateway/upstream-models.ts";
import {
  dataDirOf,
  isStarterChat,
  type ModelOptions,
  toMemoryLimit,
  toModelSpec,
  toQuantization,
} from "../node-settings.ts";
import { acceleratorsOf, openLocal, openRunners, type RunnersOptions } from "./model-hosts.ts";

export interface ImproveOptions {
  quiet: QuietTimes;
  signal: AbortSignal;
  /** Called with the share of a model's weights that is quantized, 0 to 1. */
  onProgress: (model: string, done: number) => void;
  onBetter: (model: LoadedModel) => void;
  onEnd: (model: string) => void;
}

/** Bytes; a smaller model changes the free memory too little to wait for its turn. */
const smallFile = 256 * 1024 * 1024;

/** Disposing of it unloads every model. */
export class NodeModels implements AsyncDisposable {
  readonly #options: ModelOptions;
  readonly #host: ModelHost;
  readonly #resources: AsyncDisposableStack;
  readonly #upstreams: UpstreamModels | undefined;
  /** Weights to quantize in the background, of models that already answer. */
  readonly #improvements: { model: ModelConfig; source: string; type: Quantization }[] = [];
  /** Settles when the last requested load has ended. */
  #lastLoad: Promise<unknown> = Promise.resolve();

  /** For a node: each model in its own process, if that is configured. */
  static open(options: RunnersOptions, models: readonly ModelConfig[]): Promise<NodeModels> {
    if (options.config.engine.isolation === "none") return NodeModels.openInProcess(options);
    return NodeModels.#on(options, (resources) => openRunners(options, models, resources));
  }

  /** For commands: there is nothing else that an engine crash could end. */
  static openInProcess(options: ModelOptions): Promise<NodeModels> {
    return NodeModels.#on(options, () => openLocal(options));
  }

  static async #on(
    options: ModelOptions,
    openHost: (resources: AsyncDisposableStack) => Promise<ModelHost>,
  ): Promise<NodeModels> {
    await using resources = new AsyncDisposableStack();
    const host = resources.use(await openHost(resources));
    let { upstreams } = options;
    if (upstreams === undefined && options.config.models.some(({ source }) => isUpstream(source))) {
      const { UpstreamModels } = await import("../gateway/upstream-models.ts");
      upstreams = resources.use(new UpstreamModels(options));
    }
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

  get engineVersion(): string {
    return this.#host.version;
  }

  get threads(): number {
    return this.#host.threads;
  }

  async load(configured: ModelConfig, loading: LoadOptions): Promise<LoadedModel> {
    if (this.#upstreams !== undefined && isUpstream(configured.source)) {
      return await this.#upstreams.open(configured, loading.signal);
    }
    const folder = this.#folder;
    const model = await withChosenSource(configured, this.#options);
    const source = await this.#resolve(model.source, loading, model.sha256);
    const wanted = toQuantization(model);
    if (wanted === undefined) return await this.#loadFile(model, source, loading);
    const { type, inBackground } = wanted;
    const made = inBackground ? await findQuantized(source, { folder, type }) : undefined;
    const isLater = inBackground && made === undefined;
    if (isLater) this.#improvements.push({ model, source, type });
    const path = isLater ? source : (made ?? (await this.#quantize(source, type, loading)));
    return await this.#loadFile(model, path, loading);
  }

  /** Quantizes weights while there are no requests, and hot-swaps them. A failure is retried at the next start. */
  async improve({ quiet, signal, onProgress, onBetter, onEnd }: ImproveOptions): Promise<void> {
    const { log } = this.#options;
    for (const { model, source, type } of this.#improvements.splice(0)) {
      const { name } = model;
      try {
        await quiet.wait(signal);
        log.info("a model's weights are quantized in the background", { model: name, type });
        const progress = shareOf((done) => onProgress(name, done));
        const path = await this.#quantize(source, type, { progress, signal }, quiet);
        // Failed; the reason is in the log.
        if (path === source) continue;
        // Calls wait while weights are replaced, so do it when there are none.
        await quiet.waitForMoment(signal);
        const better = await this.#replaceWeights(model, path, signal);
        if (better === undefined) {
          log.info("a model's quantized weights are used from the next start on", { model: name });
          continue;
        }
        onBetter(better);
        log.info("a model answers with its quantized weights from now on", { model: name });
      } catch (error) {
        if (signal.aborted) return;
        const reason = reasonOf(error);
        log.warn("a model goes on with the weights that it came with", { model: name, reason });
      } finally {
        onEnd(name);
      }
    }
  }

  /** Undefined if models run in this process, which cannot unload them. */
  async #replaceWeights(
    model: ModelConfig,
    path: string,
    signal: AbortSignal,
  ): Promise<LoadedModel | undefined> {
    const spec = toModelSpec(model, path, this.#options);
    const own = await this.#oneAtATime(async () => this.#host.replaceWeights?.(spec, signal));
    return own && (await this.#withAdvice(own, model));
  }

  /** `quiet`: run only while there are no requests, on one thread. */
  #quantize(
    source: string,
    type: Quantization,
    loading: LoadOptions,
    quiet?: QuietTimes,
  ): Promise<string> {
    const { program, log } = this.#options;
    const threads = quiet === undefined ? this.#host.threads : 1;
    const folder = this.#folder;
    const options = { type, folder, threads, program, log, ...loading, ...given({ quiet }) };
    return quantizeModel(source, options);
  }

  async #loadFile(model: ModelConfig, path: string, loading: LoadOptions): Promise<LoadedModel> {
    const { log } = this.#options;
    const spec = toModelSpec(model, path, this.#options);
    const load = (): Promise<LoadedModel> => this.#host.loadModel(spec, loading);
    const own = (await this.#mayLoadBeside(path)) ? await load() : await this.#oneAtATime(load);
    const loaded = this.#resources.use(await this.#withAdvice(own, model));
    const { name, type } = model;
    log.info("a model is ready", {
      model: name,
      type,
      file: basename(path),
      ...loaded.card.settings,
    });
    return loaded;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }

  async #withAdvice(loaded: LoadedModel, model: ModelConfig): Promise<LoadedModel> {
    if (!isStarterChat(model)) return loaded;
    const advice = betterModel(await readMachineMemory(), this.#options.program);
    return { ...loaded, card: { ...loaded.card, advice } };
  }

  get #folder(): string {
    const { config, baseDir } = this.#options;
    return modelsFolder(dataDirOf(config, baseDir));
  }

  /** Automatic sizes depend on the free memory, which another load would change meanwhile. */
  async #oneAtATime<Result>(load: () => Promise<Result>): Promise<Result> {
    const result = this.#lastLoad.then(load);
    this.#lastLoad = result.catch(() => {});
    return await result;
  }

  /** An accelerator is first tried by one model. */
  async #mayLoadBeside(path: string): Promise<boolean> {
    if (acceleratorsOf(this.#options).devices.length > 0) return false;
    return (await stat(path)).size < smallFile;
  }

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

/** A model whose source is `auto` with the one that is chosen for it now. */
export async function withChosenSource(
  model: ModelConfig,
  { config, baseDir, log }: Pick<ModelOptions, "config" | "baseDir" | "log">,
): Promise<ModelConfig> {
  if (model.source !== "auto") return model;
  const { parallel } = model;
  const machine = async () => withinLimit(await readMachineMemory(), toMemoryLimit(config));
  const { source, why } = await autoSource(model.type, {
    folder: modelsFolder(dataDirOf(config, baseDir)),
    pickChatFile: (paths) => pickChatFile(paths, { parallel, machine, readFacts }),
  });
  log.info("a model was chosen", { model: model.name, source, why });
  return { ...model, source };
}

/** Freely licensed; memory for four answers with a context of 4096 tokens each. The best first. */
const betterModels = [
  { needs: 12e9, source: "hf:bartowski/Qwen2.5-7B-Instruct-GGUF:Q4_K_M" },
  { needs: 4e9, source: "hf:bartowski/Qwen2.5-1.5B-Instruct-GGUF:Q4_K_M" },
] as const;

/** Advice about the starter chat model; without a command if no better one fits the machine. */
export function betterModel(
  { memory }: Pick<Machine, "memory">,
  { command }: Pick<Program, "command">,
): string {
  const weak = "The starter model is small: it is often wrong, and forgets what was asked.";
  const better = betterModels.find(({ needs }) => memory >= needs);
  if (better === undefined) return weak;
  // The executable's command is one word; from source, Bun runs it.
  const program = command.length === 1 ? "paddock" : "bun paddock";
  return `${weak} A better one for this machine's ${byteSize(memory)} of memory: ${program} pull ${better.source}`;
}
