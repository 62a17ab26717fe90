/** What `source = "auto"` stands for: the best model at hand, or the starter model. */
import { join } from "node:path";
import type { ModelType } from "../../core/models/model.ts";
import { quantizations } from "../../core/models/quantization.ts";
import { formerTranscodedName, isTranscoded } from "../../core/models/transcoded-name.ts";
import { starterChat } from "../catalog.ts";
import { listModels } from "../models-folder.ts";

export interface AutoOptions {
  folder: string;
  /** Says how many of the files are chat models, and which of them suits this machine. */
  pickChatFile: (
    paths: readonly string[],
  ) => Promise<{ candidates: number; file: string | undefined }>;
}

interface AutoSource {
  source: string;
  why: string;
}

/** Files that the starter model itself is in, those of earlier versions too. */
const ownFiles = new Set([
  starterChat.file,
  ...quantizations.map((type) => formerTranscodedName(starterChat.file, type)),
]);

/** A transcoded file is not a candidate beside the model that it was made from. */
const isPulled = (file: string): boolean => !ownFiles.has(file) && !isTranscoded(file);

export async function autoSource(type: ModelType, options: AutoOptions): Promise<AutoSource> {
  if (type === "embedding") {
    // A collection can be searched only with the model that embedded it, so a pulled one must not replace it.
    return { source: "starter:embedding", why: "the starter model; name another to change it" };
  }
  const { folder, pickChatFile } = options;
  const { models } = await listModels(folder);
  const pulled = models.filter(isPulled).map((file) => join(folder, file));
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
