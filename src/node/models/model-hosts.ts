/** Hosts of a node's models: a process for each model, or this process. */
import { resolve } from "node:path";
import { isUpstream, type ModelConfig } from "../../config/model-schema.ts";
import { given } from "../../core/given.ts";
import {
  type EngineBackend,
  joinVersions,
  loadWithBest,
  type RejectedBackend,
  tellRejected,
} from "../../core/models/engine-backends.ts";
import type { LoadOptions, ModelHost, ModelSpec } from "../../core/ports/model-host.ts";
import type { Telemetry } from "../../core/ports/telemetry.ts";
import { thisMachine } from "../../engine/accelerator/devices.ts";
import { MachineAccelerators, trialFile } from "../../engine/accelerator/machine-accelerators.ts";
import type { LocalHost } from "../../engine/load-model.ts";
import { readMachineMemory, threadBudget, withinLimit } from "../../engine/machine/machine.ts";
import {
  chooseSettings,
  estimateMemory,
  readFacts,
  shareOfAccelerator,
} from "../../engine/machine/model-memory.ts";
import { type EngineSettings, subjectOf } from "../../runner/protocol.ts";
import {
  type AcceleratorRoom,
  RunnerHost,
  type RunnerHostOptions,
} from "../../runner/runner-host.ts";
import { tryBackend } from "../../runner/runner-process.ts";
import { dataDirOf, type ModelOptions, toMemoryLimit } from "../node-settings.ts";

export interface RunnersOptions extends ModelOptions {
  telemetry: Pick<Telemetry, "runnerRestarted" | "watchMemory">;
}

/** Runs each model in its own process, so that an engine crash ends only that one. */
export async function openRunners(
  options: RunnersOptions,
  models: readonly ModelConfig[],
  resources: AsyncDisposableStack,
): Promise<ModelHost> {
  const { config, telemetry, log } = options;
  const { threads, reason } = await threadBudget(config.engine.threads);
  const names = models.filter(({ source }) => !isUpstream(source)).map(({ name }) => name);
  if (names.length > 0) {
    log.info("models run in processes of their own", { threads, why: reason });
  }
  const own = hostOptions(options, threads);
  const bound = await memoryLimitOf(options);
  const bytesOf = (spec: ModelSpec): Promise<number> => memoryOf(spec, threads);
  const memory = bound && { ...bound, bytesOf };
  const host = new RunnerHost({
    ...own,
    ...given({ memory, accelerator: acceleratorRoomOf(options, bytesOf) }),
    stepTimeoutMs: config.engine.step_timeout * 1000,
    onRestart: (model, why) => telemetry.runnerRestarted(model, why),
  });
  for (const name of names) {
    resources.use(telemetry.watchMemory(name, () => host.residentBytes(name)));
  }
  return host;
}

/** Runs all models in this process; accelerators are first tried in another process. */
export async function openLocal(options: ModelOptions): Promise<ModelHost> {
  const { threads } = await threadBudget(options.config.engine.threads);
  return new InProcessHost(hostOptions(options, threads));
}

/** Other programs, and the rest of this one, need some memory too. */
const shareOfMemory = 0.8;

/** Without a limit in the configuration: what the machine has, unless models are on an accelerator with memory of its own. */
export async function memoryLimitOf(options: ModelOptions) {
  const limit = toMemoryLimit(options.config);
  if (limit !== undefined) return { limit, sparesLasting: false };
  if (acceleratorsOf(options).devices.length > 0) return undefined;
  const { memory } = await readMachineMemory();
  return { limit: Math.floor(memory * shareOfMemory), sparesLasting: true };
}

/** Undefined without an accelerator. */
function acceleratorRoomOf(
  options: ModelOptions,
  bytesOf: AcceleratorRoom["bytesOf"],
): AcceleratorRoom | undefined {
  if (acceleratorsOf(options).devices.length === 0) return undefined;
  return {
    bytesOf: async (spec) => (spec.settings.nGpuLayers === 0 ? 0 : await bytesOf(spec)),
    freeFor: ({ acceleratorFree: free }) => free && free * shareOfAccelerator,
  };
}

const hostOptions = (options: ModelOptions, threads: number): InProcessHostOptions => ({
  program: options.program,
  engine: { ...engineSettings(options), threads },
  accelerators: acceleratorsOf(options),
  heartbeatTimeoutMs: options.config.engine.heartbeat_timeout * 1000,
  log: options.log,
});

type EngineOptions = Pick<ModelOptions, "config" | "baseDir" | "program" | "log">;

export function engineSettings(options: Pick<EngineOptions, "config" | "baseDir">): EngineSettings {
  const { threads, native_steps: nativeSteps, gpu_libraries: folder } = options.config.engine;
  const gpuLibraries = folder && resolve(options.baseDir, folder);
  return { threads, nativeSteps, ...given({ gpuLibraries }) };
}

export const acceleratorsOf = (options: EngineOptions): MachineAccelerators =>
  new MachineAccelerators({
    place: thisMachine(options.program.env),
    trials: trialFile(dataDirOf(options.config, options.baseDir)),
    ...given({ gpuLibraries: engineSettings(options).gpuLibraries }),
    log: options.log,
  });

/** Estimates a model's memory with the sizes it would get now; `threads`: contexts of a model that is not for chat. */
async function memoryOf(spec: ModelSpec, threads: number): Promise<number> {
  const { type, path, settings, parallel, memoryLimit } = spec;
  const facts = await readFacts(path, settings.context);
  const contexts = type === "chat" ? parallel : threads;
  const machine = withinLimit(await readMachineMemory(), memoryLimit);
  const sizes = chooseSettings({ facts, machine, wanted: settings, parallel: contexts });
  const { ctxSize: contextSize } = sizes;
  // Such a model reads a text in one batch.
  const batchSize = type === "chat" ? sizes.batchSize : contextSize;
  return estimateMemory(facts, { contextSize, parallel: contexts, batchSize }).total;
}

/** `program` runs trials of a backend: a crash in this process would end the command. */
type InProcessHostOptions = Pick<
  RunnerHostOptions,
  "program" | "engine" | "accelerators" | "heartbeatTimeoutMs" | "log"
>;

/** Models in this process, for commands and for `isolation = "none"`. */
export class InProcessHost implements ModelHost {
  readonly #options: InProcessHostOptions;
  /** Opened by the first model that needs the backend's libraries. */
  readonly #hosts = new Map<EngineBackend, Promise<LocalHost>>();
  readonly #versions = new Map<string, string>();
  readonly #told = new Set<string>();

  constructor(options: InProcessHostOptions) {
    this.#options = options;
  }

  get version(): string {
    return joinVersions(this.#versions);
  }

  get threads(): number {
    return this.#options.engine.threads;
  }

  loadModel: ModelHost["loadModel"] = async (spec, options) => {
    const host = await this.#hostFor(spec, options);
    return await host.loadModel(spec, options);
  };

  async [Symbol.asyncDispose](): Promise<void> {
    for (const host of this.#hosts.values()) await (await host)[Symbol.asyncDispose]();
  }

  async #hostFor(spec: ModelSpec, { signal }: LoadOptions): Promise<LocalHost> {
    const { name } = spec;
    const { program, engine, accelerators, heartbeatTimeoutMs, log } = this.#options;
    const plan = await accelerators.planFor(subjectOf(spec));
    tellRejected(log, plan.rejected, this.#told);
    const isTried = (backend: EngineBackend): boolean =>
      backend === "cpu" || plan.proven.includes(backend);
    const open = async (backend: EngineBackend, rejected: readonly RejectedBackend[]) => {
      const settings = { ...engine, backend, rejected };
      const trial = { program, name, engine: settings, spec, heartbeatTimeoutMs, log };
      if (!isTried(backend)) await tryBackend(trial, signal);
      return await this.#open(backend, rejected);
    };
    const { loaded, rejected: better } = await loadWithBest(plan, name, log, open);
    for (const { backend } of better) this.#told.add(backend);
    this.#versions.set(name, loaded.version);
    return loaded;
  }

  async #open(backend: EngineBackend, rejected: readonly RejectedBackend[]): Promise<LocalHost> {
    const opening = this.#hosts.get(backend) ?? this.#load(backend, rejected);
    this.#hosts.set(backend, opening);
    try {
      return await opening;
    } catch (error) {
      this.#hosts.delete(backend);
      throw error;
    }
  }

  async #load(backend: EngineBackend, rejected: readonly RejectedBackend[]): Promise<LocalHost> {
    const { engine, log } = this.#options;
    const { openLocalHost } = await import("../../engine/load-model.ts");
    return await openLocalHost({ ...engine, backend, rejected: [...rejected], log });
  }
}
