/** What can be tried on this machine for a model, from its devices, the libraries at hand and earlier trials. */
import { stat } from "node:fs/promises";
import { basename } from "node:path";
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
import {
  backendLibraries,
  engineVersion,
  findPackage,
  packagesOf,
} from "../../packaging/gpu-packages.ts";
import { useGpuLibraries } from "../../packaging/native-libraries.ts";
import { type Device, type DevicePlace, findDevices } from "./devices.ts";
import {
  addResult,
  everyModel,
  findResult,
  readTrials,
  type TrialFile,
  type TrialResult,
} from "./trials.ts";

export interface AcceleratorOptions {
  place: DevicePlace;
  /** The file with the results of trials; absent: they are neither read nor saved. */
  trials?: string;
  /** The folder with libraries that the configuration names. */
  gpuLibraries?: string;
  log: Log;
}

const pullGpu = "'paddock pull gpu' brings them";

type Accelerator = Device["backend"];

export class MachineAccelerators implements Accelerators {
  readonly #options: AcceleratorOptions;
  readonly #devices: readonly Device[];

  constructor(options: AcceleratorOptions) {
    this.#options = options;
    this.#devices = findDevices(options.place);
    useGpuLibraries(options.gpuLibraries);
  }

  /** The backends that the machine has a device for. */
  get devices(): readonly Device[] {
    return this.#devices;
  }

  async planFor({ path, nGpuLayers }: BackendSubject): Promise<BackendPlan> {
    const { trials: file } = this.#options;
    const known = file === undefined ? nothing : await readTrials(file);
    const digests: TrialFile["digests"] = {};
    const model = await stampOf(path);
    const tried = new Map<EngineBackend, Omit<TrialResult, "model" | "at">>();
    const candidates: EngineBackend[] = [];
    const proven: EngineBackend[] = [];
    const rejected: RejectedBackend[] = [];
    for (const backend of this.#platformBackends()) {
      const device = this.#devices.find((candidate) => candidate.backend === backend);
      const obstacle = this.#obstacle(backend, device, nGpuLayers);
      if (obstacle !== undefined || device === undefined) {
        if (obstacle !== undefined) rejected.push(obstacle);
        continue;
      }
      const library = await this.#digest(backend, known, digests);
      const trial = { backend, library, driver: device.driver };
      tried.set(backend, trial);
      const result = findResult(known, { ...trial, model });
      if (result?.failure === undefined) candidates.push(backend);
      else rejected.push(asTriedBefore(backend, result.failure, result.at));
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
        // What is known already need not be written at every start.
        if (failure === undefined && proven.includes(backend)) return;
        const result = {
          ...trial,
          model: isForAll ? everyModel : model,
          ...(reason === undefined ? {} : { failure: reason }),
          at: new Date().toISOString().slice(0, 10),
        };
        await addResult(file, result, digests).catch((error: unknown) =>
          this.#options.log.warn("the result of a backend's trial cannot be saved", {
            reason: reasonOf(error),
          }),
        );
      },
    };
  }

  /** The accelerators that there are libraries for on this platform, the best first. */
  #platformBackends(): Accelerator[] {
    return backendOrder.filter(
      (backend): backend is Accelerator =>
        backend !== "cpu" && packagesOf(backend, this.#options.place).length > 0,
    );
  }

  /** Why it need not be tried. */
  #obstacle(
    backend: Accelerator,
    device: Device | undefined,
    nGpuLayers: BackendSubject["nGpuLayers"],
  ): RejectedBackend | undefined {
    if (device === undefined) {
      const reason = "this machine has no device or driver for it";
      return { backend, reason, hasDevice: false };
    }
    if (nGpuLayers === 0) {
      const reason = "no model asks for it: n_gpu_layers is 0";
      return { backend, reason, hasDevice: false };
    }
    return this.#missing(backend);
  }

  #missing(backend: Accelerator): RejectedBackend | undefined {
    // They are the CPU's own.
    if (backend === "metal") return undefined;
    const [name = ""] = packagesOf(backend, this.#options.place);
    const found = findPackage(name);
    const reject = (reason: string): RejectedBackend => ({
      backend,
      reason,
      hasDevice: true,
      remedy: pullGpu,
    });
    if (found === undefined) return reject("its libraries are not installed");
    if (backendLibraries(found.bins).length === 0) return reject("its libraries are not whole");
    if (found.version === undefined || found.version === engineVersion) return undefined;
    return reject(
      `its libraries are of version ${found.version}, and the engine is ${engineVersion}`,
    );
  }

  /** One digest of all libraries of a backend; each is read once, and again when it has changed. */
  async #digest(
    backend: Accelerator,
    { digests: known }: TrialFile,
    digests: TrialFile["digests"],
  ): Promise<string> {
    const all = new Bun.CryptoHasher("sha256").update(engineVersion);
    for (const name of packagesOf(backend, this.#options.place)) {
      const found = findPackage(name);
      for (const path of found === undefined ? [] : backendLibraries(found.bins)) {
        const stamp = await stampOf(path);
        const before = known[path];
        const sha256 = before?.stamp === stamp ? before.sha256 : await sha256Of(path);
        digests[path] = { stamp, sha256 };
        all.update(sha256);
      }
    }
    return all.digest("hex");
  }
}

const nothing: TrialFile = { verdicts: [], digests: {} };

const asTriedBefore = (backend: EngineBackend, failure: string, at: string): RejectedBackend => ({
  backend,
  reason: failure,
  hasDevice: true,
  remedy: tryAgain,
  triedOn: at,
});

/** Which file it is, without reading it. */
async function stampOf(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return basename(path);
  return `${basename(path)} ${found.size} ${Math.floor(found.mtimeMs)}`;
}

async function sha256Of(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk);
  return hash.digest("hex");
}
