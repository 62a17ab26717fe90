/** `paddock pull gpu`: the libraries for the machine's accelerator, of the engine's own version. */
import { join } from "node:path";
import { NodeError } from "../core/errors.ts";
import {
  type Device,
  type DevicePlace,
  findDevices,
  hasLibrary,
  thisMachine,
} from "../engine/accelerator/devices.ts";
import { fetchPackage } from "../models/sources/npm/fetch-package.ts";
import { registryFrom } from "../models/sources/npm/registry-settings.ts";
import { engineVersion, findPackage, packagesOf, scope } from "../packaging/gpu-packages.ts";
import { pulledFolder } from "../packaging/native-libraries.ts";
import { createProgress } from "./progress.ts";
import type { Shell } from "./shell.ts";

type Accelerator = Device["backend"];

interface PulledPackage {
  name: string;
  version: string;
  path: string;
}

/** `gpu` chooses; `gpu:cuda` and `gpu:vulkan` name one. */
export const isGpuSource = (source: string): boolean => /^gpu(:|$)/.test(source);

export async function pullGpu(shell: Shell, source: string): Promise<PulledPackage[]> {
  const place = thisMachine(shell.env);
  const backend = source === "gpu" ? choose(place) : named(source);
  const home = pulledFolder();
  const packages = neededOf(backend, place);
  if (home === undefined || packages.length === 0) {
    throw new NodeError(
      "invalid_request",
      `There are no libraries of ${backend} for this platform.`,
    );
  }
  const pulled: PulledPackage[] = [];
  const registryOf = registryFrom(shell.env, shell.cwd);
  for (const name of packages) {
    const path = join(home, name);
    const id = { name: `${scope}/${name}`, version: engineVersion, path };
    const found = findPackage(name);
    if (found?.version === engineVersion) {
      shell.say(`${id.name}@${engineVersion} is there already.\n`);
      pulled.push({ ...id, path: join(found.bins, "..") });
      continue;
    }
    await fetchPackage(
      { package: id.name, version: engineVersion },
      {
        registry: await registryOf(id.name),
        folder: path,
        progress: createProgress(shell),
        signal: shell.stopped,
      },
    );
    pulled.push(id);
  }
  if (backend === "cuda") sayRuntime(shell, place);
  return pulled;
}

/** CUDA where its own libraries are installed too; Vulkan needs nothing but the driver. */
function choose(place: DevicePlace): Accelerator {
  const backends = findDevices(place).map(({ backend }) => backend);
  if (backends.includes("metal")) {
    throw new NodeError(
      "invalid_request",
      "Metal's libraries come with the program: nothing is to be fetched.",
    );
  }
  const chosen =
    backends.includes("cuda") && (runtimeOf(place) !== undefined || !backends.includes("vulkan"))
      ? "cuda"
      : backends.find((backend) => backend !== "cuda");
  if (chosen !== undefined) return chosen;
  throw new NodeError(
    "unavailable",
    "No accelerator was found: there is neither a driver of NVIDIA's nor one of Vulkan's with a device. 'paddock pull gpu:cuda' and 'paddock pull gpu:vulkan' fetch the libraries all the same.",
  );
}

function named(source: string): Accelerator {
  const backend = source.slice("gpu:".length);
  if (backend === "cuda" || backend === "vulkan") return backend;
  throw new NodeError("invalid_request", `'${source}' must be gpu, gpu:cuda or gpu:vulkan.`);
}

/** The package that extends CUDA's is built with CUDA 12, for machines that have not 13. */
function neededOf(backend: Accelerator, place: DevicePlace): readonly string[] {
  const [first, ...others] = packagesOf(backend, place);
  if (first === undefined) return [];
  return backend === "cuda" && runtimeOf(place) === 13 ? [first] : [first, ...others];
}

/** The version of CUDA's own libraries that the dynamic linker finds. */
const runtimeOf = (place: DevicePlace): 12 | 13 | undefined =>
  ([13, 12] as const).find((version) => hasLibrary(place, `libcudart.so.${version}`));

function sayRuntime(shell: Shell, place: DevicePlace): void {
  if (place.platform !== "linux" || runtimeOf(place) !== undefined) return;
  shell.say(
    "They want CUDA's own libraries (libcudart and libcublas of CUDA 13 or 12), which were not found: install NVIDIA's package cuda-libraries-13-0, or take 'paddock pull gpu:vulkan'.\n",
  );
}
