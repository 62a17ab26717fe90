/** Opens the configured collection and its embedding model, for the node and for commands. */
import { join } from "node:path";
import type { ModelConfig } from "../../config/model-schema.ts";
import type { Config } from "../../config/schema.ts";
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { EmbeddingModel } from "../../core/models/model.ts";
import { ModelRegistry } from "../../core/models/model-registry.ts";
import type { CollectionStore } from "../../core/ports/passage-repository.ts";
import { type OpenCollection, openCollection } from "../../core/retrieval/collection.ts";
import { QdrantCollectionStore } from "../../store/qdrant/qdrant-collections.ts";
import { dryRunStore, SqliteCollectionStore } from "../../store/sqlite/sqlite-collections.ts";
import { NodeModels } from "../models/node-models.ts";
import { dataDirOf, type ModelOptions, type StoreOptions, toCollection } from "../node-settings.ts";

/** Opens the configured collection in a store, or creates it. */
export function openConfiguredCollection(
  store: CollectionStore,
  { engine, identity }: EmbeddingModel,
  { config, log }: Pick<StoreOptions, "config" | "log">,
): Promise<OpenCollection> {
  const spec = { dimension: engine.dimension, embedding: identity };
  return openCollection(store, config.vectorstore.collection_name, spec, log);
}

/** Opens the collection with the model that fills it, until it is disposed of. `create` false: the store is not changed; a missing collection is an empty one in memory. */
export async function openCollectionToFill(
  options: ModelOptions,
  signal: AbortSignal,
  { create = true } = {},
): Promise<OpenCollection & AsyncDisposable & { embedding: EmbeddingModel }> {
  await using resources = new AsyncDisposableStack();
  const { embedding } = resources.use(await openEmbeddingModel(options, signal));
  const configured = collectionStore(options);
  const store = create ? configured : dryRunStore(configured);
  const collection = await openConfiguredCollection(store, embedding, options);
  resources.use(collection.repository);
  const owned = resources.move();
  return { ...collection, embedding, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The store at an address; default: the configured one. */
export function collectionStore(
  { config, baseDir, log }: StoreOptions,
  url = config.vectorstore.url,
): CollectionStore {
  if (url === "embedded") {
    return new SqliteCollectionStore(join(dataDirOf(config, baseDir), "collections"), log);
  }
  const { url: configured, api_key: key, timeout } = config.vectorstore;
  // Never send one server's key to another.
  const apiKey = configured === url || configured === "embedded" ? key : undefined;
  return new QdrantCollectionStore({ url, timeoutMs: timeout * 1000, ...given({ apiKey }) });
}

/** Loads only the model that fills the collection, or the named one, into this process, until it is disposed of. */
export async function openEmbeddingModel(
  options: ModelOptions,
  signal: AbortSignal,
  name?: string,
): Promise<AsyncDisposable & { embedding: EmbeddingModel }> {
  const { config, progress } = options;
  const model = embeddingModelIn(config, name);
  await using resources = new AsyncDisposableStack();
  const nodeModels = resources.use(await NodeModels.openInProcess(options));
  const registry = new ModelRegistry([model]);
  registry.add(await nodeModels.load(model, { progress, signal }));
  const embedding = registry.embedding(model.name);
  const owned = resources.move();
  return { embedding, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Default: the model that fills the collection. */
export function embeddingModelIn(
  config: Config,
  name = toCollection(config).embeddingModel,
): ModelConfig {
  const models = config.models.filter(({ type }) => type === "embedding");
  const model = models.find((candidate) => candidate.name === name);
  if (model !== undefined) return model;
  if (models.length > 0) {
    throw new NodeError(
      "invalid_request",
      `There is no embedding model '${name}' in the configuration (${models.map((each) => each.name).join(", ")}).`,
    );
  }
  throw new NodeError(
    "unavailable",
    'No embedding model is configured; a collection needs one: [[models]] type = "embedding".',
  );
}
