/** What `source = "auto"` stands for: the best model at hand, or the starter model. */
import { join } from "node:path";
import { pickChatModel } from "../../core/models/auto-model.ts";
import type { Machine } from "../../core/models/machine.ts";
import type { ModelType } from "../../core/models/model.ts";
import type { ModelFacts } from "../../core/models/model-memory.ts";
import {
  formerTranscodedName,
  isTranscoded,
  quantizations,
} from "../../core/models/quantization.ts";
import { starterChat } from "../catalog.ts";
import { listModels } from "../models-folder.ts";

export interface AutoOptions {
  folder: string;
  /** Chat answers at the same time. */
  parallel: number;
  machine: () => Promise<Machine>;
  readFacts: (path: string) => Promise<ModelFacts>;
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
  const { folder, parallel, machine, readFacts } = options;
  const { models } = await listModels(folder);
  const candidates: ModelFacts[] = [];
  for (const file of models.filter(isPulled)) {
    // A file that cannot be read is no candidate; 'paddock models' says why.
    const facts = await readFacts(join(folder, file)).catch(() => undefined);
    if (facts?.kind === "chat") candidates.push(facts);
  }
  const starter = "starter:chat";
  if (candidates.length === 0) {
    return { source: starter, why: "the starter model; no other chat model was pulled" };
  }
  const [file] = pickChatModel(candidates, await machine(), parallel)?.files ?? [];
  return file === undefined
    ? { source: starter, why: "the starter model; no pulled one fits the memory comfortably" }
    : { source: file, why: "the largest pulled model that fits the memory comfortably" };
}
