/** Resolves a model's `source` to a file on disk, downloading or creating it if needed. */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { NodeError } from "../../core/errors.ts";
import type { ModelType } from "../../core/models/model.ts";
import {
  isQuantized,
  missingParts,
  partsOf,
  quantizations,
} from "../../core/models/model-files.ts";
import { sizeOf } from "../files.ts";
import { findFetched, listModels } from "../models-folder.ts";
import { starterChat, starterEmbedding, starterGteSmall } from "../starter-models.ts";
import { checkDigest } from "./digest.ts";
import { type DownloadOptions, download, isComing, isRemote } from "./download.ts";
import { prepareFetched, prepareStarterChat, prepareStarterEmbedding } from "./starter.ts";

export interface ResolveOptions extends DownloadOptions {
  /** Base of relative paths. */
  baseDir: string;
}

export async function resolveSource(source: string, options: ResolveOptions): Promise<string> {
  if (source === "starter:chat") return await prepareStarterChat(options);
  if (source === "starter:embedding") return await prepareStarterEmbedding(options);
  if (source === starterGteSmall.source) return await prepareFetched(starterGteSmall, options);
  if (isRemote(source)) return await download(source, options);
  const path = await existingFile(resolve(options.baseDir, source), source);
  await checkDigest(path, source, options);
  return path;
}

const starterFiles: Readonly<Record<string, string>> = {
  "starter:chat": starterChat.file,
  "starter:embedding": starterEmbedding.file,
  [starterGteSmall.source]: starterGteSmall.file,
};

/** The file of a source if it exists; nothing is downloaded or created. */
export async function findSource(
  source: string,
  { folder, baseDir }: Pick<ResolveOptions, "folder" | "baseDir">,
): Promise<string | undefined> {
  if (isRemote(source)) return await findFetched(source, folder);
  const starter = starterFiles[source];
  const path = starter === undefined ? resolve(baseDir, source) : join(folder, starter);
  const [first = path] = partsOf(path);
  return (await sizeOf(first)) === undefined ? undefined : first;
}

/** For a model in several files, returns the first. */
async function existingFile(path: string, source: string): Promise<string> {
  const files = partsOf(path);
  const [first = path] = files;
  const found = await Promise.all(files.map((file) => stat(file).catch(() => undefined)));
  if (found.every((file) => file?.isFile() === true)) return first;
  const missing = files.filter((_, at) => found[at] === undefined);
  throw new NodeError(
    "unavailable",
    missing.length > 0 && files.length > 1
      ? `The model '${source}' is not whole: ${missingParts(missing, files.length)}. Put them beside each other, under the names that they came with.`
      : `The model file '${source}' ${missing.length > 0 ? "does not exist" : "is not a file"}. Give the path of a GGUF file.`,
  );
}

export interface AutoOptions {
  folder: string;
  /** Counts the chat models among the files, and picks the one that suits this machine. */
  pickChatFile: (
    paths: readonly string[],
  ) => Promise<{ candidates: number; file: string | undefined }>;
}

const starterStem = starterChat.file.replace(/[\w-]+\.gguf$/, "");
/** The starter models, and the chat model's quantized files from earlier versions. */
const ownFiles = [
  starterChat.file,
  starterEmbedding.file,
  ...quantizations.map((type) => `${starterStem}${type}.gguf`),
];

/** Files of models that the user chose. A quantized file is not one beside its original. */
export const isChosen = (file: string): boolean =>
  !ownFiles.includes(file) && !isQuantized(file) && !isComing(file);

/** Resolves `source = "auto"`: the best pulled model, or the starter model. */
export async function autoSource(
  type: ModelType,
  options: AutoOptions,
): Promise<{ source: string; why: string }> {
  if (type === "embedding") {
    // A collection needs the model that embedded it, so a pulled one must not replace it.
    return { source: "starter:embedding", why: "the starter model; name another to change it" };
  }
  const { folder, pickChatFile } = options;
  const { models } = await listModels(folder);
  const pulled = models.filter(isChosen).map((file) => join(folder, file));
  const { candidates, file } = await pickChatFile(pulled);
  if (file !== undefined) {
    return { source: file, why: "the largest pulled model that fits the memory comfortably" };
  }
  const why =
    candidates === 0
      ? "no other chat model was pulled"
      : "no pulled one fits the memory comfortably";
  return { source: "starter:chat", why: `the starter model; ${why}` };
}
