/** Where the built llama-server lies, and what it is built from. */
import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "./cache-folder.ts";

/** The folder of node-llama-cpp that carries llama.cpp's source. */
export const sourceFolder = join(
  dirname(fileURLToPath(import.meta.resolve("node-llama-cpp"))),
  "..",
  "llama",
);

/** One folder a release of llama.cpp, so that the peer always runs the node's. */
export async function peerFolder(): Promise<string> {
  const { release } = JSON.parse(
    await readFile(join(sourceFolder, "binariesGithubRelease.json"), "utf8"),
  );
  return join(cacheFolder, `llama-server-${release}`);
}

export const serverIn = (folder: string): string => join(folder, "llama-server");

/** The folder of the built llama-server, if there is one; else says how to build it. */
export async function findPeer(say: (text: string) => void): Promise<string | undefined> {
  const folder = await peerFolder();
  if (await isThere(serverIn(folder))) return folder;
  say("no llama-server to measure against: `bun bench:peer` builds it (12 to 20 minutes, once)");
  return undefined;
}

export const isThere = async (path: string): Promise<boolean> =>
  await stat(path).then(
    () => true,
    () => false,
  );

/** The folder of node-llama-cpp's prebuilt libraries for a platform such as `linux-x64` or `linux-x64-cuda`. */
export const librariesOf = (platform: string): string =>
  join(sourceFolder, "..", "..", "@node-llama-cpp", platform, "bins", platform);
