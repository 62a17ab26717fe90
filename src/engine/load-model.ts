/** Loads a GGUF into llama.cpp as a chat, an embedding or a reranking model. */
import { stat } from "node:fs/promises";
import { NodeError, reasonOf } from "../core/errors.ts";
import type { LoadStage } from "../core/models/engine-backends.ts";
import type { LoadedModel, ModelCard } from "../core/models/model.ts";
import type { ModelSpec } from "../core/ports/model-host.ts";
import type { Progress } from "../core/progress.ts";
import type { Backend } from "./backend.ts";
import { loadWeights } from "./load-weights.ts";
import { asChat } from "./loading/chat-model.ts";
import { asEmbedding } from "./loading/embedding-model.ts";
import { asReranker } from "./loading/reranking-model.ts";
import { fitSettings } from "./machine/fit-settings.ts";

export async function loadModel(
  backend: Backend,
  spec: ModelSpec,
  progress: Progress,
  onStage: (stage: LoadStage) => void = () => {},
): Promise<LoadedModel> {
  const step = progress.step(`Loading ${spec.name}`, 100, "percent");
  try {
    const { mtime } = await stat(spec.path);
    const { settings, why } = await fitSettings(backend, spec);
    const { nGpuLayers } = settings;
    const weights = {
      modelPath: spec.path,
      // Our number is an estimate; the library measures, and may place fewer layers.
      gpuLayers:
        spec.settings.nGpuLayers === "auto" && nGpuLayers > 0 ? { max: nGpuLayers } : nGpuLayers,
    };
    return await loadWeights(backend, weights, step, async (model) => {
      const loaded = await loaders[spec.type](
        backend,
        model,
        { ...spec, settings },
        mtime,
        onStage,
      );
      if (why !== undefined) logChoice(backend, loaded.card, why);
      return loaded;
    });
  } catch (cause) {
    throw new NodeError(
      "unavailable",
      `The model '${spec.name}' cannot be loaded: ${reasonOf(cause)}`,
      { cause },
    );
  }
}

function logChoice({ log }: Backend, { name, settings }: ModelCard, why: string): void {
  const { ctxSize, batchSize, nGpuLayers } = settings;
  log.info("sizes were chosen for the machine", {
    model: name,
    ctx_size: ctxSize,
    batch_size: batchSize,
    n_gpu_layers: nGpuLayers,
    why,
  });
}

const loaders = { chat: asChat, embedding: asEmbedding, reranker: asReranker } as const;
