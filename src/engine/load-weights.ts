/** Loads a model's weights into llama.cpp, and frees them again where what is made of them fails. */
import type { LlamaModel, LlamaModelOptions } from "node-llama-cpp";
import type { ProgressStep } from "../core/progress.ts";
import type { Backend } from "./backend.ts";

export async function loadWeights<Made>(
  { llama }: Backend,
  options: Pick<LlamaModelOptions, "modelPath" | "gpuLayers">,
  step: ProgressStep,
  make: (model: LlamaModel) => Promise<Made>,
): Promise<Made> {
  const onLoadProgress = (loaded: number): void => step.update(Math.floor(loaded * 100));
  const model = await llama.loadModel({ ...options, onLoadProgress });
  try {
    const made = await make(model);
    step.finish();
    return made;
  } catch (error) {
    await model.dispose();
    throw error;
  }
}
