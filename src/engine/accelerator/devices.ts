/** Detects a machine's accelerators and their drivers from files. */
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { arch, platform, release } from "node:os";
import { basename, join } from "node:path";
import type { EngineBackend } from "../../core/models/engine-backends.ts";

export interface Device {
  backend: Exclude<EngineBackend, "cpu">;
  /** Identifies the driver: the result of a trial is valid for one driver. */
  driver: string;
}

export interface DevicePlace {
  platform: string;
  arch: string;
  env: Readonly<Record<string, string | undefined>>;
  root: string;
}

export const thisMachine = (env: DevicePlace["env"]): DevicePlace => ({
  platform: platform(),
  arch: arch(),
  env,
  root: "/",
});

/** In the order they are tried. Only looks at files, and loads nothing. */
export function findDevices(place: DevicePlace): Device[] {
  if (place.platform === "darwin") {
    return place.arch === "arm64" ? [{ backend: "metal", driver: release() }] : [];
  }
  // GPU libraries exist for this architecture only.
  if (place.arch !== "x64") return [];
  const drivers: [Device["backend"], string | undefined][] =
    place.platform === "win32"
      ? [
          ["cuda", stampOf(join(systemFolder(place), "nvcuda.dll"))],
          ["vulkan", stampOf(join(systemFolder(place), "vulkan-1.dll"))],
        ]
      : [
          ["cuda", withRuntime(place, nvidiaDriver(place))],
          ["vulkan", vulkanDriver(place)],
        ];
  return drivers.flatMap(([backend, driver]) => (driver === undefined ? [] : { backend, driver }));
}

/** Whether the dynamic linker could find a library, such as `libcudart.so.13`. */
export const hasLibrary = (place: DevicePlace, name: string): boolean =>
  findLibrary(place, name) !== undefined;

/** The kernel module's version, else the driver's file, as under WSL. */
function nvidiaDriver(place: DevicePlace): string | undefined {
  const [line] = (read(join(place.root, "proc/driver/nvidia/version")) ?? "").split("\n");
  if (line !== undefined && line !== "") return line.replaceAll(/\s+/g, " ").trim();
  const library = findLibrary(place, "libcuda.so.1");
  return library && stampOf(library);
}

/** Includes CUDA's own libraries: once they are installed, a new trial is due. */
function withRuntime(place: DevicePlace, driver: string | undefined): string | undefined {
  const runtime = ["cudart", "cublas"]
    .flatMap((name) => [`lib${name}.so.13`, `lib${name}.so.12`])
    .flatMap((name) => findLibrary(place, name) ?? [])
    .map(stampOf);
  return driver && [driver, ...runtime].join(", ");
}

/** Needs a loader, drivers and a device. Includes the kernel's release, which some are part of. */
function vulkanDriver(place: DevicePlace): string | undefined {
  const loader = findLibrary(place, "libvulkan.so.1");
  const drivers = vulkanDrivers(place);
  if (loader === undefined || drivers.length === 0) return undefined;
  const nvidia = nvidiaDriver(place);
  const isNamed = namedDrivers(place).length > 0;
  const nodes = list(join(place.root, "dev/dri")).filter((name) => name.startsWith("renderD"));
  if (!isNamed && nodes.length === 0 && nvidia === undefined) return undefined;
  const digest = new Bun.CryptoHasher("sha256");
  for (const path of drivers) digest.update(`${stampOf(path)} ${read(path)}`);
  digest.update(`${stampOf(loader)} ${nvidia}`);
  return `${release()}, ${drivers.map((path) => basename(path)).join(", ")}, ${digest.digest("hex").slice(0, 16)}`;
}

/** The manifests of Vulkan drivers, without those that render on the CPU. */
function vulkanDrivers(place: DevicePlace): string[] {
  const named = namedDrivers(place);
  if (named.length > 0) return named.filter((path) => read(path) !== undefined);
  return ["etc/vulkan/icd.d", "usr/local/share/vulkan/icd.d", "usr/share/vulkan/icd.d"]
    .map((folder) => join(place.root, folder))
    .flatMap((folder) => list(folder).map((name) => join(folder, name)))
    .filter((path) => path.endsWith(".json") && !basename(path).startsWith("lvp_"));
}

const namedDrivers = ({ env }: DevicePlace): string[] =>
  (env.VK_DRIVER_FILES ?? env.VK_ICD_FILENAMES ?? "").split(":").filter((path) => path !== "");

const libraryFolders = [
  "usr/lib/x86_64-linux-gnu",
  "usr/lib64",
  "usr/lib",
  "usr/lib/wsl/lib",
  "usr/local/cuda/lib64",
  "usr/local/cuda/targets/x86_64-linux/lib",
  "usr/local/nvidia/lib64",
];

function findLibrary({ env, root }: DevicePlace, name: string): string | undefined {
  const named = (env.LD_LIBRARY_PATH ?? "").split(":").filter((folder) => folder !== "");
  return [...named, ...libraryFolders.map((folder) => join(root, folder))]
    .map((folder) => join(folder, name))
    .find((path) => stampOf(path) !== undefined);
}

const systemFolder = ({ env }: DevicePlace): string =>
  join(env.SYSTEMROOT ?? env.SystemRoot ?? "C:\\Windows", "System32");

/** Identifies a file by name, size and time, without reading it; undefined if there is none. */
export function stampOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  return `${basename(realpathSync(path))} ${found.size} ${Math.floor(found.mtimeMs)}`;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}
