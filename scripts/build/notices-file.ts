/** Gathers the licence notices of what an executable carries into the file that it carries them in. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { starterChat, starterEmbedding } from "../../src/models/starter-models.ts";
import { gatherNotices } from "../../src/packaging/gather-notices.ts";
import { packNotices } from "../../src/packaging/packed-notices.ts";
import { oneFile, type PluginOptions } from "./plugin.ts";

export interface NoticesOptions extends Omit<PluginOptions, "carried"> {
  /** The folder of the package of llama.cpp's libraries. */
  libraries: string;
  /** Whether the starter models are carried too. */
  withStarter: boolean;
  /** The file to write. */
  file: string;
}

export async function writeNotices({
  libraries,
  withStarter,
  file,
  ...options
}: NoticesOptions): Promise<{ count: number; bytes: number }> {
  const starter = [...starterChat.packages, starterEmbedding.package];
  const notices = await gatherNotices({
    root: options.root,
    folders: [
      libraries,
      ...(withStarter ? starter : []).map((name) => join(options.root, "node_modules", name)),
    ],
    // Only which packages are reached is asked here; the files carried beside them are in none of it.
    plugins: [oneFile({ ...options, carried: "export const carried = undefined;" })],
  });
  const silent = notices.filter(({ license }) => license === "").map(({ name }) => name);
  if (silent.length > 0) {
    throw new Error(`These packages declare no licence, so nobody may pass them on: ${silent}.`);
  }
  const packed = packNotices(notices);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, packed);
  return { count: notices.length, bytes: packed.length };
}
