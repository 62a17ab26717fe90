/** node-llama-cpp inside a bundle: its modules that read files beside themselves, or start themselves again, are constants there. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { PluginBuilder } from "bun";

export interface LlamaVersions {
  /** Version of node-llama-cpp and of its packages of libraries. */
  llamaVersion: string;
  /** Release of llama.cpp in them. */
  llamaRelease: string;
}

export async function llamaVersions(root: string): Promise<LlamaVersions> {
  const json = async (path: string): Promise<Record<string, unknown>> =>
    JSON.parse(await readFile(join(root, "node_modules", "node-llama-cpp", path), "utf8"));
  return {
    llamaVersion: String((await json("package.json")).version),
    llamaRelease: String((await json("llama/binariesGithubRelease.json")).release),
  };
}

export function bundleLlama(
  build: PluginBuilder,
  { llamaVersion, llamaRelease }: LlamaVersions,
): void {
  const version = JSON.stringify(llamaVersion);
  const release = JSON.stringify(llamaRelease);
  const replaced: readonly (readonly [RegExp, string])[] = [
    [
      /node-llama-cpp[\\/]dist[\\/]utils[\\/]getModuleVersion\.js$/,
      `export const getModuleVersion = async () => ${version};`,
    ],
    [
      /node-llama-cpp[\\/]dist[\\/]bindings[\\/]utils[\\/]binariesGithubRelease\.js$/,
      `export const getBinariesGithubRelease = async () => ${release};
       export const setBinariesGithubRelease = async () => {};
       export const builtinLlamaCppRelease = ${release};
       export const defaultLlamaCppRelease = ${release};`,
    ],
    [
      // It would start the whole program again to try the library in a process of its own.
      /node-llama-cpp[\\/]dist[\\/]bindings[\\/]utils[\\/]testBindingBinary\.js$/,
      "export const testBindingBinary = async () => true;",
    ],
  ];
  for (const [filter, contents] of replaced) {
    build.onLoad({ filter }, () => ({ contents, loader: "js" }));
  }
}
