/** Turns a model's `source` into a file on disk, fetching or making it where it is not there yet. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { NodeError } from "../../core/errors.ts";
import { type DownloadOptions, download, isRemote } from "./download.ts";
import { prepareStarterChat, prepareStarterEmbedding } from "./starter.ts";

export interface ResolveOptions extends DownloadOptions {
  /** What relative paths start from. */
  baseDir: string;
}

export async function resolveSource(source: string, options: ResolveOptions): Promise<string> {
  const { folder, baseDir, progress } = options;
  if (source === "starter:chat") return await prepareStarterChat(folder, progress);
  if (source === "starter:embedding") return await prepareStarterEmbedding(folder, progress);
  if (isRemote(source)) return await download(source, options);
  return await existingFile(resolve(baseDir, source), source);
}

async function existingFile(path: string, source: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile()) return path;
  throw new NodeError(
    "unavailable",
    `The model file '${source}' ${found === undefined ? "does not exist" : "is not a file"}. Give the path of a GGUF file.`,
  );
}
