/**
 * Lets node-llama-cpp find libraries that are not in node_modules: it imports them as packages, so
 * Bun is given a module for each that is elsewhere. The executable's build does the same in its way.
 */
import { carried } from "./carried.ts";
import { engineVersion, gpuPackages, scope } from "./gpu-packages.ts";
import { gpuLibraries } from "./native-libraries.ts";

export function registerGpuPackages(): void {
  if (carried !== undefined) return;
  const elsewhere = gpuPackages.filter((name) => gpuLibraries(name) !== undefined);
  if (elsewhere.length === 0) return;
  Bun.plugin({
    name: "gpu-libraries",
    setup(build) {
      for (const name of elsewhere) {
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
