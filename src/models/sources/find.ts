/** Finds the file that a model's `source` stands for where it is on this machine; makes and fetches nothing. */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { starterChat, starterEmbedding } from "../catalog.ts";

export interface FindOptions {
  /** Where made and fetched models are kept. */
  folder: string;
  /** What relative paths start from. */
  baseDir: string;
  /** Finds what was fetched before. */
  findDownload: (source: string, folder: string) => Promise<string | undefined>;
}

const starters: Readonly<Record<string, { file: string; bytes: number }>> = {
  "starter:chat": starterChat,
  "starter:embedding": starterEmbedding,
};

export async function findSource(
  source: string,
  { folder, baseDir, findDownload }: FindOptions,
): Promise<string | undefined> {
  const starter = starters[source];
  if (starter !== undefined) {
    const path = join(folder, starter.file);
    return (await sizeOf(path)) === starter.bytes ? path : undefined;
  }
  if (isRemote(source)) return await findDownload(source, folder);
  const path = resolve(baseDir, source);
  return (await sizeOf(path)) === undefined ? undefined : path;
}

/** Whether a source is fetched from somewhere else. */
export const isRemote = (source: string): boolean => /^(https:\/\/|hf:)/.test(source);

const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    (found) => (found.isFile() ? found.size : undefined),
    () => undefined,
  );
