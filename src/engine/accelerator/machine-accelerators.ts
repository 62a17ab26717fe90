/** Plans a model's backends from this machine's devices, libraries and earlier trials. */
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Static, Type as T } from "@sinclair/typebox";
import { reasonOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import {
  type Accelerators,
  type BackendPlan,
  type BackendSubject,
  backendOrder,
  type EngineBackend,
  type RejectedBackend,
  tryAgain,
} from "../../core/models/engine-backends.ts";
import { type ContextSettings, contextDefaults } from "../../core/models/model.ts";
import {
  backendLibraries,
  engineVersion,
  findPackage,
  packagesOf,
} from "../../packaging/gpu-packages.ts";
import { useGpuLibraries } from "../../packaging/native-libraries.ts";
import { readJsonFile } from "../../validation/json-file.ts";
import { type Device, type DevicePlace, findDevices, stampOf } from "./devices.ts";

export interface AcceleratorOptions {
  place: DevicePlace;
  /** The file with trial results; absent: they are neither read nor saved. */
  trials?: string;
  gpuLibraries?: string;
  log: Log;
}

const pullGpu = "'paddock pull gpu' brings them";

type Accelerator = Device["backend"];

export class MachineAccelerators implements Accelerators {
  readonly #options: AcceleratorOptions;
  readonly devices: readonly Device[];

  constructor(options: AcceleratorOptions) {
    this.#options = options;
    this.devices = findDevices(options.place);
    useGpuLibraries(options.gpuLibraries);
  }

  async planFor({ path, nGpuLayers, context }: BackendSubject): Promise<BackendPlan> {
    const { trials: file } = this.#options;
    const known = file === undefined ? [] : await readTrials(file);
    const model = [stampOf(path) ?? basename(path), ...kernelsOf(context)].join(", ");
    const tried = new Map<EngineBackend, Omit<TrialResult, "model" | "at">>();
    const candidates: EngineBackend[] = [];
    const proven: EngineBackend[] = [];
    const rejected: RejectedBackend[] = [];
    for (const backend of this.#platformBackends()) {
      const device = this.devices.find((candidate) => candidate.backend === backend);
      const obstacle = this.#obstacle(backend, device, nGpuLayers);
      if (obstacle !== undefined) rejected.push(obstacle);
      if (obstacle !== undefined || device === undefined) continue;
      const trial = { backend, library: this.#library(backend), driver: device.driver };
      tried.set(backend, trial);
      const result = findResult(known, { ...trial, model });
      if (result?.failure === undefined) candidates.push(backend);
      else {
        const { failure: reason, at: triedOn } = result;
        rejected.push({ backend, reason, hasDevice: true, remedy: tryAgain, triedOn });
      }
      if (result !== undefined && result.failure === undefined) proven.push(backend);
    }
    candidates.push("cpu");
    return {
      candidates,
      rejected,
      proven,
      keep: async (backend, failure) => {
        const trial = tried.get(backend);
        if (file === undefined || trial === undefined) return;
        const { reason, isForAll = false } = failure ?? {};
        // A known result is not written at every start.
        if (failure === undefined && proven.includes(backend)) return;
        const result = {
          ...trial,
          model: isForAll ? everyModel : model,
          ...(reason === undefined ? {} : { failure: reason }),
          at: new Date().toISOString().slice(0, 10),
        };
        await addResult(file, result).catch((error: unknown) =>
          this.#options.log.warn("the result of a backend's trial cannot be saved", {
            reason: reasonOf(error),
          }),
        );
      },
    };
  }

  #platformBackends(): Accelerator[] {
    return backendOrder.filter(
      (backend): backend is Accelerator =>
        backend !== "cpu" && packagesOf(backend, this.#options.place).length > 0,
    );
  }

  #obstacle(
    backend: Accelerator,
    device: Device | undefined,
    nGpuLayers: BackendSubject["nGpuLayers"],
  ): RejectedBackend | undefined {
    const useless =
      device === undefined
        ? "this machine has no device or driver for it"
        : nGpuLayers === 0
          ? "no model asks for it: n_gpu_layers is 0"
          : undefined;
    if (useless !== undefined) return { backend, reason: useless, hasDevice: false };
    const reason = this.#missing(backend);
    if (reason === undefined) return undefined;
    return { backend, reason, hasDevice: true, remedy: pullGpu };
  }

  #missing(backend: Accelerator): string | undefined {
    // Metal's libraries come with the CPU's.
    if (backend === "metal") return undefined;
    const [name = ""] = packagesOf(backend, this.#options.place);
    const found = findPackage(name);
    if (found === undefined) return "its libraries are not installed";
    if (backendLibraries(found.bins).length === 0) return "its libraries are not whole";
    if (found.version === undefined || found.version === engineVersion) return undefined;
    return `its libraries are of version ${found.version}, and the engine is ${engineVersion}`;
  }

  #library(backend: Accelerator): string {
    const bins = packagesOf(backend, this.#options.place).flatMap(
      (name) => findPackage(name)?.bins ?? [],
    );
    return [engineVersion, ...bins.flatMap(backendLibraries).map(stampOf)].join(", ");
  }
}

/** Other kernels compute with other settings, so that a trial says nothing of them. */
function kernelsOf(context = contextDefaults): string[] {
  const named = ({ cacheTypeK, cacheTypeV, flashAttention }: ContextSettings): string =>
    `cache ${cacheTypeK} ${cacheTypeV}, flash attention ${flashAttention}`;
  return named(context) === named(contextDefaults) ? [] : [named(context)];
}

/** The result of a trial, stored so that failures are not repeated at every start. */
const TrialResult = T.Object({
  backend: T.String(),
  /** The engine's version and the files that were tried. */
  library: T.String(),
  driver: T.String(),
  model: T.String(),
  failure: T.Optional(T.String()),
  at: T.String(),
});

const TrialFile = T.Object({ verdicts: T.Array(TrialResult) });

export type TrialResult = Static<typeof TrialResult>;

type Trial = Pick<TrialResult, "backend" | "library" | "driver" | "model">;

export const everyModel = "*";

const mostResults = 200;

export const trialFile = (dataDir: string): string => join(dataDir, "accelerators.json");

/** Empty if the file is missing or damaged: everything is then tried. */
export const readTrials = async (path: string): Promise<TrialResult[]> =>
  (await readJsonFile(TrialFile, path))?.verdicts ?? [];

export const findResult = (
  results: readonly TrialResult[],
  { backend, library, driver, model }: Trial,
): TrialResult | undefined =>
  results.findLast(
    (known) =>
      known.backend === backend &&
      known.library === library &&
      known.driver === driver &&
      (known.model === model || known.model === everyModel),
  );

export async function addResult(path: string, result: TrialResult): Promise<void> {
  const others = (await readTrials(path)).filter(
    ({ backend, model }) =>
      backend !== result.backend || (model !== result.model && model !== everyModel),
  );
  await write(path, [...others, result].slice(-mostResults));
}

export async function forgetFailures(path: string): Promise<void> {
  const results = await readTrials(path);
  const working = results.filter(({ failure }) => failure === undefined);
  if (working.length < results.length) await write(path, working);
}

async function write(path: string, verdicts: readonly TrialResult[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const aside = `${path}.${crypto.randomUUID()}.part`;
  try {
    await writeFile(aside, `${JSON.stringify({ verdicts }, null, 2)}\n`, { mode: 0o600 });
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}
