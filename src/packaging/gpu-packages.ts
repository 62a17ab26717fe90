/** The packages of llama.cpp's libraries for accelerators: their names, their version, and where they are. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { dependencies } from "../../package.json" with { type: "json" };
import type { EngineBackend } from "../core/models/engine-backends.ts";
import { executable } from "./executable-contents.ts";
import { gpuLibraries } from "./native-libraries.ts";

/** The engine's own; libraries of another version are of another build. */
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

/** Without the scope; the first is needed, the others extend it. */
export const packagesOf = (
  backend: EngineBackend,
  { platform, arch }: { platform: string; arch: string },
): readonly string[] => packages[`${platform}-${arch}`]?.[backend] ?? [];

/** All that there are for any platform. */
const gpuPackages: readonly string[] = Object.values(packages).flatMap((of) => [
  ...(of.cuda ?? []),
  ...(of.vulkan ?? []),
]);

export interface FoundPackage {
  bins: string;
  /** Undefined where it does not say. */
  version?: string;
}

export function findPackage(name: string): FoundPackage | undefined {
  const bins = gpuLibraries(name) ?? installed(name);
  if (bins === undefined) return undefined;
  const version = versionOf(join(dirname(bins), "package.json"));
  return { bins, ...(version === undefined ? {} : { version }) };
}

/** The libraries of a package that drive an accelerator; the rest of it is as in the CPU's package. */
export function backendLibraries(bins: string): string[] {
  return readdirSync(bins, { recursive: true, encoding: "utf8" })
    .filter((path) => /ggml-(cuda|vulkan|metal)\.(so|dll|dylib)$/.test(path))
    .map((path) => join(bins, path))
    .sort();
}

/** Where `bun install` put it; the executable has no such folder. */
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

/** Gives Bun a module for each package of libraries outside node_modules, since node-llama-cpp imports them as packages. */
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
