/** Weights as an embedding model, and what tells its vectors from those of other models. */
import { basename } from "node:path";
import type { LlamaModel } from "node-llama-cpp";
import { knownPrefixes } from "../../core/embedding/embedding-prefixes.ts";
import type { LoadStage } from "../../core/models/engine-backends.ts";
import type { LoadedModel, ModelSettings } from "../../core/models/model.ts";
import type { ModelSpec } from "../../core/ports/model-host.ts";
import type { EmbeddingIdentity } from "../../core/ports/passage-repository.ts";
import type { Backend } from "../backend.ts";
import { LlamaEmbeddingEngine } from "../embedding-engine.ts";
import { weightsDigest } from "../fingerprint.ts";
import { card, contextSize, type FittedSpec, fingerprintOf } from "../fitted-model.ts";
import { NativeEmbeddingContext } from "../native/embedding-context.ts";
import { proveEmbedding } from "../prove-model.ts";

export async function asEmbedding(
  backend: Backend,
  model: LlamaModel,
  spec: FittedSpec,
  createdAt: Date,
  onStage: (stage: LoadStage) => void,
): Promise<LoadedModel> {
  const size = contextSize(model, spec);
  const create = async (): Promise<NativeEmbeddingContext> =>
    new NativeEmbeddingContext(
      // llama.cpp computes the embedding of a text in a single batch.
      await model.createEmbeddingContext({ contextSize: size, batchSize: size, threads: 1 }),
    );
  const first = await create();
  onStage("trial");
  await proveEmbedding(first, model, backend);
  onStage("model");
  const others = await Promise.all(Array.from({ length: backend.threads - 1 }, create));
  const settings: ModelSettings = {
    ...spec.settings,
    ctxSize: size,
    batchSize: size,
    nGpuLayers: model.gpuLayers,
  };
  const engine = new LlamaEmbeddingEngine(model, [first, ...others], {
    maxTokens: size,
    threads: backend.threads,
    steps: backend.steps,
  });
  return {
    type: "embedding",
    card: card(model, spec, settings, createdAt),
    engine,
    fingerprint: await fingerprintOf(backend, spec, settings, "none"),
    identity: await identityOf(model, spec),
    async [Symbol.asyncDispose]() {
      await engine.close();
      await model.dispose();
    },
  };
}

/** A collection outlives engine builds and settings, so its identity is that of the weights alone. */
async function identityOf(
  model: LlamaModel,
  { name, path, prefixes = {} }: ModelSpec,
): Promise<EmbeddingIdentity> {
  const { name: ownName, basename: family } = model.fileInfo.metadata.general;
  const known = knownPrefixes([name, ownName ?? "", family ?? "", basename(path)]);
  return {
    model: name,
    fingerprint: (await weightsDigest(path)).slice(0, 32),
    queryPrefix: prefixes.query ?? known.query,
    documentPrefix: prefixes.document ?? known.document,
  };
}
