/** Weights as a reranking model. */
import type { LlamaModel, LlamaRankingContext } from "node-llama-cpp";
import type { LoadStage } from "../../core/models/engine-backends.ts";
import type { LoadedModel, ModelSettings } from "../../core/models/model.ts";
import type { Backend } from "../backend.ts";
import { card, contextSize, type FittedSpec, fingerprintOf } from "../fitted-model.ts";
import { proveReranker } from "../prove-model.ts";
import { LlamaReranker } from "../reranker.ts";

export async function asReranker(
  backend: Backend,
  model: LlamaModel,
  spec: FittedSpec,
  createdAt: Date,
  onStage: (stage: LoadStage) => void,
): Promise<LoadedModel> {
  const size = contextSize(model, spec);
  const create = (): Promise<LlamaRankingContext> =>
    model.createRankingContext({ contextSize: size, batchSize: size, threads: 1 });
  const contexts = await Promise.all(Array.from({ length: backend.threads }, create));
  onStage("trial");
  const engine = new LlamaReranker(model, contexts, { maxTokens: size, steps: backend.steps });
  await proveReranker(engine);
  onStage("model");
  const settings: ModelSettings = {
    ...spec.settings,
    ctxSize: size,
    batchSize: size,
    nGpuLayers: model.gpuLayers,
  };
  return {
    type: "reranker",
    card: card(model, spec, settings, createdAt),
    engine,
    fingerprint: await fingerprintOf(backend, spec, settings, "none"),
    async [Symbol.asyncDispose]() {
      await engine.close();
      await model.dispose();
    },
  };
}
