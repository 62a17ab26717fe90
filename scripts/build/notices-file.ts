/** Gathers the licence notices of what an executable carries into the file that it carries them in. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { starterChat, starterEmbedding } from "../../src/models/starter-models.ts";
import { gatherNotices, packNotices } from "../../src/packaging/notices.ts";
import { oneFile, type PluginOptions } from "./plugin.ts";

export interface NoticesOptions extends Omit<PluginOptions, "contents"> {
  /** The folder of the package of llama.cpp's libraries. */
  libraries: string;
  /** Whether the starter models are inside too. */
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
  const folders = (withStarter ? starter : []).map((name) =>
    join(options.root, "node_modules", name),
  );
  // The plugin only finds the packages; the other files inside come from none of them.
  const plugins = [oneFile({ ...options, contents: "export const executable = undefined;" })];
  const notices = await gatherNotices(options.root, [libraries, ...folders], plugins);
  const silent = notices.filter(({ license }) => license === "").map(({ name }) => name);
  if (silent.length > 0) {
    throw new Error(`These packages declare no licence, so nobody may pass them on: ${silent}.`);
  }
  const packed = packNotices(notices);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, packed);
  return { count: notices.length, bytes: packed.length };
}
