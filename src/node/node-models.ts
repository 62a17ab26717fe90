/** The models of a node, from a line of its configuration to an engine that answers. */
import { basename } from "node:path";
import type { ModelConfig } from "../config/model-schema.ts";
import { given } from "../core/given.ts";
import type { LoadedModel } from "../core/models/model.ts";
import type { LoadOptions, ModelHost } from "../core/ports/model-host.ts";
import type { Reranker } from "../core/ports/reranker.ts";
import { withinLimit } from "../engine/machine/machine.ts";
import { readMachineMemory } from "../engine/machine/machine-memory.ts";
import { pickChatFile } from "../engine/machine/pick-chat-model.ts";
import { modelsFolder } from "../models/models-folder.ts";
import { autoSource } from "../models/sources/auto.ts";
import { hubFrom } from "../models/sources/hub.ts";
import { resolveSource } from "../models/sources/resolve.ts";
import { dataDirOf } from "./data-dir.ts";
import { readFacts, transcoded } from "./engine-on-demand.ts";
import { openLocal, openRunners, type RunnersOptions } from "./model-hosts.ts";
import { toMemoryLimit, toModelSpec, toQuantization } from "./node-settings.ts";
import type { ModelOptions } from "./part-options.ts";

/** Disposing it unloads every model. */
export class NodeModels implements AsyncDisposable {
  readonly #options: ModelOptions;
  readonly #host: ModelHost;
  readonly #resources: AsyncDisposableStack;
  /** Settles when the last load that was asked for is over. */
  #lastLoad: Promise<void> = Promise.resolve();

  /** For a node that serves: each model in a process of its own, where that is configured. */
  static async open(options: RunnersOptions, models: readonly ModelConfig[]): Promise<NodeModels> {
    const { isolation } = options.config.engine;
    if (isolation === "none") return await NodeModels.openInProcess(options);
    await using resources = new AsyncDisposableStack();
    const host = resources.use(await openRunners(options, models, resources));
    return new NodeModels(options, host, resources.move());
  }

  /** For work that serves nobody: a crash of the engine ends nothing else. */
  static async openInProcess(options: ModelOptions): Promise<NodeModels> {
    await using resources = new AsyncDisposableStack();
    const host = resources.use(await openLocal(options));
    return new NodeModels(options, host, resources.move());
  }

  private constructor(options: ModelOptions, host: ModelHost, resources: AsyncDisposableStack) {
    this.#options = options;
    this.#host = host;
    this.#resources = resources;
  }

  /** The engine and its build; known from the first loaded model on. */
  get engineVersion(): string {
    return this.#host.version;
  }

  async load(configured: ModelConfig, loading: LoadOptions): Promise<LoadedModel> {
    const { config, program, log } = this.#options;
    const folder = this.#folder;
    const model = await this.#chosen(configured, folder);
    const source = await this.#resolve(model.source, loading, model.sha256);
    const type = toQuantization(model);
    const { threads } = this.#host;
    const path =
      type === undefined
        ? source
        : await transcoded(source, { type, folder, threads, program, log, ...loading });
    const spec = toModelSpec(model, path, toMemoryLimit(config));
    const loaded = this.#resources.use(
      await this.#oneAtATime(() => this.#host.loadModel(spec, loading)),
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
