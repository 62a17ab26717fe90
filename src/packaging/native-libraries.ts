/** Finds native libraries: in the packages, or where the executable unpacked them. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";
import { carried } from "./carried.ts";
import { unpack } from "./unpack.ts";

export interface NativePlace {
  /** Where the executable may unpack. */
  cacheFolder: string;
  user: number | undefined;
  /** The folder that the program is in. */
  programFolder: string;
}

/** A thread has modules of its own, and nobody that tells it: it finds the place under this name. */
const placeForThreads = "paddock native place";

let folder: string | undefined;
let gpuFolder: string | undefined;

/** Sets where the program is and may unpack; nothing is unpacked before a library is needed. */
export function useNativePlace(given: NativePlace): void {
  setEnvironmentData(placeForThreads, JSON.stringify(given));
}

/** Sets a folder with the packages of GPU libraries, which is searched first. */
export function useGpuLibraries(path: string | undefined): void {
  gpuFolder = path;
}

/** The folder of the libraries that the executable carries; undefined where packages hold them. */
export function nativeFolder(): string | undefined {
  const place = nativePlace();
  if (carried === undefined || place === undefined) return undefined;
  const { cacheFolder, user } = place;
  folder ??= unpack({ files: carried.native, folder: cacheFolder, user });
  return folder;
}

/** Where `paddock pull gpu` puts packages with GPU libraries. */
export function pulledFolder(): string | undefined {
  const cacheFolder = nativePlace()?.cacheFolder;
  return cacheFolder === undefined ? undefined : join(cacheFolder, "gpu");
}

/** The `bins` folder of a package with GPU libraries: where the configuration says, beside the program, or pulled. */
export function gpuLibraries(name: string): string | undefined {
  const folders = [gpuFolder, nativePlace()?.programFolder, pulledFolder()].filter(
    (path) => path !== undefined,
  );
  return folders
    .flatMap((path) => [join(path, name, "bins"), join(path, "@node-llama-cpp", name, "bins")])
    .find((path) => existsSync(path));
}

function nativePlace(): NativePlace | undefined {
  const text = getEnvironmentData(placeForThreads);
  return typeof text === "string" ? JSON.parse(text) : undefined;
}
