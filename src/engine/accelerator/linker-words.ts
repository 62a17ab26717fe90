/** Why the dynamic linker does not load a backend's library: node-llama-cpp says only that there is none. */
import { dlopen, FFIType } from "bun:ffi";
import { arch, platform } from "node:os";
import { basename } from "node:path";
import { reasonOf } from "../../core/errors.ts";
import type { EngineBackend } from "../../core/models/engine-backends.ts";
import { backendLibraries, findPackage, packagesOf } from "../../packaging/gpu-packages.ts";

/** Undefined where it does load, or is not there. Loads it into this process. */
export function linkerWords(backend: EngineBackend): string | undefined {
  const [name = ""] = packagesOf(backend, { platform: platform(), arch: arch() });
  const found = findPackage(name);
  const [path] = found === undefined ? [] : backendLibraries(found.bins);
  if (path === undefined) return undefined;
  try {
    dlopen(path, { ggml_backend_init: { returns: FFIType.ptr, args: [] } }).close();
    return undefined;
  } catch (error) {
    return explain(reasonOf(error), path);
  }
}

function explain(words: string, path: string): string {
  const [, missing] = /(lib[\w.+-]+): cannot open shared object file/.exec(words) ?? [];
  if (missing !== undefined && missing !== basename(path)) {
    return `its library needs ${missing}, which is not installed`;
  }
  return words.replaceAll(path, basename(path));
}
