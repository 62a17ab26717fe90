/** Serves the models of the models folder: registers, pulls and removes them while the node runs. */
import { basename } from "node:path";
import { isUpstream } from "../../config/model-schema.ts";
import type { Config } from "../../config/schema.ts";
import { unlessLate } from "../../core/abort.ts";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { LoadedModel } from "../../core/models/model.ts";
import type { ModelActivities } from "../../core/models/model-activity.ts";
import type {
  MachineMemory,
  ModelLibrary,
  Pulling,
  PullOptions,
} from "../../core/models/model-library.ts";
import { modelOnDemand } from "../../core/models/model-on-demand.ts";
import type { ModelRegistry } from "../../core/models/model-registry.ts";
import { noProgress } from "../../core/progress.ts";
import { readMachineMemory } from "../../engine/machine/machine.ts";
import { findFetched, removeModel } from "../../models/models-folder.ts";
import { findSource } from "../../models/sources/resolve.ts";
import type { Metrics } from "../../telemetry/metrics.ts";
import { isStarterChat, type ModelOptions, toModelBounds } from "../node-settings.ts";
import {
  type FolderModel,
  findFolderModels,
  findUnserved,
  pickDefault,
  stampOf,
  toKnownModel,
} from "./folder-models.ts";
import { FolderPulls, folderOf } from "./folder-pulls.ts";
import { memoryLimitOf } from "./model-hosts.ts";
import { type NodeModels, withChosenSource } from "./node-models.ts";

type LibraryOptions = ModelOptions & { version: string };

/** What the folder held when the node started, and the configuration that follows from it. */
export interface FolderState {
  config: Config;
  found: readonly FolderModel[];
  stamp: string | undefined;
}

/** Without sections, the starter chat model gives way to a pulled one that fits. */
export async function readFolder(configured: LibraryOptions): Promise<FolderState> {
  const { models_folder: folder } = configured.config;
  if (folder.serve === "none") return { config: configured.config, found: [], stamp: undefined };
  const stamp = await stampOf(folderOf(configured));
  // A file that a section chooses is the section's, also after another one came.
  const chosen = configured.config.models.map((model) => withChosenSource(model, configured));
  const config = { ...configured.config, models: await Promise.all(chosen) };
  const options = { ...configured, config };
  const found = await findFolderModels(options);
  const isReplaced = config.models_folder.serve === "auto" && (await pickDefault(found, options));
  const models = isReplaced
    ? config.models.filter((model) => !isStarterChat(model))
    : config.models;
  return { config: { ...config, models }, found, stamp };
}

export interface LibraryParts {
  options: LibraryOptions;
  models: ModelRegistry;
  activities: ModelActivities;
  telemetry: Pick<Metrics, "addModel" | "watchMemory">;
  stopping: AbortSignal;
}

interface Served extends FolderModel {
  onDemand: LoadedModel;
  watching: Disposable;
}

export class FolderLibrary implements ModelLibrary {
  readonly #parts: LibraryParts;
  readonly #served = new Map<string, Served>();
  readonly #nodeModels = Promise.withResolvers<Pick<NodeModels, "load">>();
  #stamp: string | undefined;
  #looking: Promise<void> | undefined;
  readonly #pulls: FolderPulls;
  #removing: Promise<unknown> = Promise.resolve();

  constructor(parts: LibraryParts, { found, stamp }: FolderState) {
    this.#parts = parts;
    this.#pulls = new FolderPulls(parts);
    this.#stamp = stamp;
    for (const one of found) this.#add(one);
  }

  /** Models are loaded from now on; earlier calls wait. */
  open(nodeModels: Pick<NodeModels, "load">): void {
    this.#nodeModels.resolve(nodeModels);
  }

  /** Puts the model first that a client without a choice should use. */
  async chooseDefault(): Promise<void> {
    const { options, models } = this.#parts;
    if (options.config.models_folder.serve !== "auto") return;
    const chosen = await pickDefault([...this.#served.values()], options);
    if (chosen !== undefined) models.putFirst(chosen.model.name);
  }

  async refresh(): Promise<void> {
    const isRead = await unlessLate(
      this.#look().then(() => true),
      false,
    );
    if (isRead) return;
    const { log } = this.#parts.options;
    log.warn("the models folder is not read in time; its models are listed as they were");
  }

  /** Reads the folder if it changed. One reading at a time, however long its disk hangs. */
  async #look(): Promise<void> {
    // It may have begun before the change; one that begins after it has not.
    await this.#looking;
    this.#looking ??= this.#readIfChanged().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  async pull(source: string, options: PullOptions): Promise<string | undefined> {
    return await this.#pulls.pull(source, options, {
      // What is about to be removed is not there already.
      ready: () => this.#removing,
      arrived: async (path) => {
        await this.#look();
        return await this.#nameOf(path);
      },
    });
  }

  cancelPull(): boolean {
    return this.#pulls.cancel();
  }

  pulling(): Pulling | undefined {
    return this.#pulls.state;
  }

  async pulledFrom(source: `hf:${string}`): Promise<string | undefined> {
    const path = await findFetched(source, folderOf(this.#parts.options));
    return path && (await this.#nameOf(path));
  }

  mayRemove(name: string): boolean {
    return this.#served.get(name)?.isPulled === true;
  }

  async remove(name: string): Promise<number> {
    const removed = this.#remove(name);
    this.#removing = Promise.allSettled([this.#removing, removed]);
    return await removed;
  }

  async #remove(name: string): Promise<number> {
    const { options, models } = this.#parts;
    const served = this.#served.get(name);
    if (served === undefined) {
      if (models.typeOf(name) === undefined) return await this.#removeUnserved(name);
      const why = `The model '${name}' belongs to the node's configuration, so it is not removed. Take its [[models]] section out of the configuration first; a starter model stays.`;
      throw new NodeError("invalid_request", why, { param: "model" });
    }
    if (!served.isPulled) {
      const why = `The file of the model '${name}' was not pulled by Paddock, so it is not Paddock's to remove. 'paddock models rm' removes it.`;
      throw new NodeError("invalid_request", why, { param: "model" });
    }
    this.#forget(name, served);
    // Also if the client leaves: the model is not served any more.
    await end(served, this.#parts.stopping);
    const freed = await removeModel(folderOf(options), basename(served.path)).catch((error) => {
      // It is served again.
      this.#stamp = undefined;
      throw error;
    });
    options.log.info("a model was removed", { model: name, bytes: freed });
    return freed;
  }

  async #removeUnserved(name: string): Promise<number> {
    const { options, models } = this.#parts;
    const path = await findUnserved(name, options);
    // A file that is served has another name here.
    const isServed = [...this.#served.values()].some((one) => one.path === path);
    if (path === undefined || isServed) throw models.notFound(name);
    const freed = await removeModel(folderOf(options), basename(path));
    options.log.info("a pulled file that is no model was removed", { model: name, bytes: freed });
    return freed;
  }

  async memory(): Promise<MachineMemory> {
    const { memory: total, availableMemory: free } = await readMachineMemory();
    return { total, free, ...given({ models: (await memoryLimitOf(this.#parts.options))?.limit }) };
  }

  async #readIfChanged(): Promise<void> {
    const { options } = this.#parts;
    if (options.config.models_folder.serve === "none") return;
    const stamp = await stampOf(folderOf(options));
    if (stamp !== undefined && stamp === this.#stamp) return;
    const found = await findFolderModels(options, [...this.#served.values()]);
    this.#stamp = stamp;
    const isSame = ({ model, stamp }: FolderModel): boolean =>
      found.some((one) => one.model.name === model.name && one.stamp === stamp);
    for (const [name, served] of this.#served) {
      if (isSame(served)) continue;
      this.#forget(name, served);
      // Its calls in progress go on with the file that they began with.
      void end(served, this.#parts.stopping).catch((error: unknown) => {
        options.log.warn("a model could not be unloaded", { model: name, reason: reasonOf(error) });
      });
    }
    for (const one of found) if (!this.#served.has(one.model.name)) this.#add(one);
    await this.chooseDefault();
  }

  #add(one: FolderModel): void {
    const { options, models, activities, telemetry, stopping } = this.#parts;
    const { name, type, parallel, max_queue: maxQueue } = one.model;
    activities.add(toModelBounds(one.model));
    const watching = new DisposableStack();
    watching.use(telemetry.addModel({ name, type, place: "local" }));
    const onDemand = modelOnDemand({
      known: toKnownModel(one, options),
      mostWaiting: type === "chat" ? maxQueue + parallel : mostWaiting,
      load: async () =>
        (await this.#nodeModels.promise).load(one.model, {
          progress: noProgress,
          signal: stopping,
        }),
      onLoaded: (model) => {
        if (this.#served.get(name)?.onDemand === model) models.add(activities.measured(model));
      },
    });
    watching.use(telemetry.watchMemory(name, () => onDemand.residence?.().bytes));
    this.#served.set(name, { ...one, onDemand, watching });
    models.add(activities.measured(onDemand));
  }

  #forget(name: string, { watching }: Served): void {
    const { models, activities } = this.#parts;
    watching[Symbol.dispose]();
    this.#served.delete(name);
    models.remove(name);
    activities.remove(name);
  }

  /** The file may belong to a section of the configuration. */
  async #nameOf(path: string): Promise<string | undefined> {
    const served = [...this.#served.values()].find((one) => one.path === path);
    if (served !== undefined) return served.model.name;
    const { options } = this.#parts;
    const where = { folder: folderOf(options), baseDir: options.baseDir };
    for (const { name, source } of options.config.models) {
      if (!isUpstream(source) && (await findSource(source, where)) === path) return name;
    }
    return undefined;
  }
}

/** Once its calls have ended. */
async function end({ onDemand }: Served, signal: AbortSignal): Promise<void> {
  await onDemand.unload?.(signal);
  await onDemand[Symbol.asyncDispose]();
}

/** Embedding and reranking models have no queue setting of their own. */
const mostWaiting = 1024;
