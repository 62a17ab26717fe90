/** The store of collections that the configuration, or a command, names. */
import { join } from "node:path";
import { given } from "../core/given.ts";
import type { CollectionStore } from "../core/ports/passage-repository.ts";
import { QdrantCollectionStore } from "../store/qdrant/qdrant-collection-store.ts";
import { SqliteCollectionStore } from "../store/sqlite/sqlite-collection-store.ts";
import { dataDirOf } from "./data-dir.ts";
import type { StoreOptions } from "./node-settings.ts";

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
