/** The model that fills the collection, or another that is configured, loaded alone and into this process, for commands that serve nobody. */
import { NodeError } from "../../core/errors.ts";
import type { EmbeddingModel } from "../../core/models/model.ts";
import { ModelRegistry } from "../../core/models/model-registry.ts";
import { type ModelOptions, toCollection } from "../node-settings.ts";
import { NodeModels } from "./node-models.ts";

/** Disposing it unloads the model, and what it runs in. */
export interface OpenEmbeddingModel extends AsyncDisposable {
  embedding: EmbeddingModel;
}

export async function openEmbeddingModel(
  options: ModelOptions,
  signal: AbortSignal,
  name = toCollection(options.config).embeddingModel,
): Promise<OpenEmbeddingModel> {
  const { config, progress } = options;
  const models = config.models.filter(({ type }) => type === "embedding");
  const model = models.find((candidate) => candidate.name === name);
  if (model === undefined && models.length > 0) {
    throw new NodeError(
      "invalid_request",
      `There is no embedding model '${name}' in the configuration (${models.map((each) => each.name).join(", ")}).`,
    );
  }
  if (model === undefined) {
    throw new NodeError(
      "unavailable",
      'No embedding model is configured; a collection needs one: [[models]] type = "embedding".',
    );
  }
  await using resources = new AsyncDisposableStack();
  const nodeModels = resources.use(await NodeModels.openInProcess(options));
  const registry = new ModelRegistry([model]);
  registry.add(await nodeModels.load(model, { progress, signal }));
  const embedding = registry.embedding(model.name);
  const owned = resources.move();
  return { embedding, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
