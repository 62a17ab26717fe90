/** Packages with llama.cpp's GPU libraries: their names, version and location. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { dependencies } from "../../package.json" with { type: "json" };
import type { EngineBackend } from "../core/models/engine-backends.ts";
import { executable } from "./executable-contents.ts";
import { gpuLibraries } from "./native-libraries.ts";

/** Libraries must have the engine's version, since others are of another build. */
export const engineVersion = dependencies["node-llama-cpp"];

export const scope = "@node-llama-cpp";

/** Metal's libraries come with the CPU's. */
const packages: Readonly<Record<string, Partial<Record<EngineBackend, readonly string[]>>>> = {
  "linux-x64": {
    cuda: ["linux-x64-cuda", "linux-x64-cuda-ext"],
    vulkan: ["linux-x64-vulkan"],
  },
  "win32-x64": {
    cuda: ["win-x64-cuda", "win-x64-cuda-ext"],
    vulkan: ["win-x64-vulkan"],
  },
  "darwin-arm64": { metal: ["mac-arm64-metal"] },
};

/** Without the scope. The first is required, the others extend it. */
export const packagesOf = (
  backend: EngineBackend,
  { platform, arch }: { platform: string; arch: string },
): readonly string[] => packages[`${platform}-${arch}`]?.[backend] ?? [];

const gpuPackages: readonly string[] = Object.values(packages).flatMap((of) => [
  ...(of.cuda ?? []),
  ...(of.vulkan ?? []),
]);

export interface FoundPackage {
  bins: string;
  version?: string;
}

export function findPackage(name: string): FoundPackage | undefined {
  const bins = gpuLibraries(name) ?? installed(name);
  if (bins === undefined) return undefined;
  const version = versionOf(join(dirname(bins), "package.json"));
  return { bins, ...(version === undefined ? {} : { version }) };
}

/** The GPU libraries of a package; its other files are the same as in the CPU package. */
export function backendLibraries(bins: string): string[] {
  return readdirSync(bins, { recursive: true, encoding: "utf8" })
    .filter((path) => /ggml-(cuda|vulkan|metal)\.(so|dll|dylib)$/.test(path))
    .map((path) => join(bins, path))
    .sort();
}

/** Installed by `bun install`; the executable has no such folder. */
function installed(name: string): string | undefined {
  const bins = join(import.meta.dir, "..", "..", "node_modules", scope, name, "bins");
  return existsSync(bins) ? bins : undefined;
}

function versionOf(manifest: string): string | undefined {
  try {
    const { version }: { version?: unknown } = JSON.parse(readFileSync(manifest, "utf8"));
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined;
  }
}

/** Registers packages outside node_modules with Bun, since node-llama-cpp imports them by name. */
export function registerGpuPackages(): void {
  if (executable !== undefined) return;
  const found = gpuPackages.filter((name) => gpuLibraries(name) !== undefined);
  if (found.length === 0) return;
  Bun.plugin({
    name: "gpu-libraries",
    setup(build) {
      for (const name of found) {
        build.module(`${scope}/${name}`, () => ({
          loader: "object",
          exports: {
            getBinsDir: () => ({ binsDir: gpuLibraries(name), packageVersion: engineVersion }),
          },
        }));
      }
    },
  });
}
