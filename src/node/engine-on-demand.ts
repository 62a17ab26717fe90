/** Parts of the engine that load its libraries when they are called: a node whose models run elsewhere has them not. */
import type { ModelFacts } from "../engine/machine/model-memory.ts";
import type { TranscodeOptions } from "../engine/quantization/quantize-model.ts";

export const readFacts = async (path: string): Promise<ModelFacts> =>
  await (await import("../engine/gguf/model-facts.ts")).readModelFacts(path);

export const transcoded = async (path: string, options: TranscodeOptions): Promise<string> =>
  await (await import("../engine/quantization/quantize-model.ts")).transcode(path, options);

export const alreadyTranscoded = async (
  path: string,
  options: Pick<TranscodeOptions, "folder" | "type">,
): Promise<string | undefined> =>
  await (await import("../engine/quantization/quantize-model.ts")).findTranscoded(path, options);
