/** The configured collection, for a node that serves it and for commands that fill it. */

import { join } from "node:path";
import { given } from "../../core/given.ts";
import type { EmbeddingModel } from "../../core/models/model.ts";
import type { CollectionStore } from "../../core/ports/passage-repository.ts";
import { type OpenCollection, openCollection } from "../../core/retrieval/collection.ts";
import { QdrantCollectionStore } from "../../store/qdrant/qdrant-collections.ts";
import {
  DryRunCollectionStore,
  SqliteCollectionStore,
} from "../../store/sqlite/sqlite-collections.ts";
import { openEmbeddingModel } from "../models/embedding-model.ts";
import { dataDirOf, type ModelOptions, type StoreOptions } from "../node-settings.ts";

/** Opens the configured collection in a store, or makes it there. */
export function openConfiguredCollection(
  store: CollectionStore,
  { engine, identity }: EmbeddingModel,
  { config, log }: Pick<StoreOptions, "config" | "log">,
): Promise<OpenCollection> {
  const spec = { dimension: engine.dimension, embedding: identity };
  return openCollection(store, config.vectorstore.collection_name, spec, log);
}

/** A collection with the model that fills it; disposing it closes the one and unloads the other. */
export interface FillableCollection extends OpenCollection, AsyncDisposable {
  embedding: EmbeddingModel;
}

/** `create` false: the store stays as it is, and a collection that is not there is empty and in memory. */
export async function openCollectionToFill(
  options: ModelOptions,
  signal: AbortSignal,
  { create = true } = {},
): Promise<FillableCollection> {
  await using resources = new AsyncDisposableStack();
  const { embedding } = resources.use(await openEmbeddingModel(options, signal));
  const configured = collectionStore(options);
  const store = create ? configured : new DryRunCollectionStore(configured);
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
  // One server's key is not shown to another.
  const apiKey = configured === url || configured === "embedded" ? key : undefined;
  return new QdrantCollectionStore({ url, timeoutMs: timeout * 1000, ...given({ apiKey }) });
}
