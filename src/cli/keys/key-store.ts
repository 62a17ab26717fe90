/** Opens the key store: the file in the data dir, or the shared Redis server. */
import { join } from "node:path";
import type { Config } from "../../config/schema.ts";
import { theNode } from "../../core/documents/document-caller.ts";
import { StoreAccess } from "../../core/documents/store-access.ts";
import { NodeError } from "../../core/errors.ts";
import type { KeyStore } from "../../core/limits/api-key.ts";
import type { RedisOptions } from "../../gateway/redis/connection.ts";
import { collectionStore } from "../../node/documents/open-collection.ts";
import { dataDirOf, toSharedServer } from "../../node/node-settings.ts";
import { documentsFile, sqliteDocuments } from "../../store/documents/sqlite-documents.ts";
import { keysFile, SqliteKeys } from "../../store/keys/sqlite-keys.ts";
import { createCommandLog } from "../log.ts";
import { CommandError, type Shell } from "../shell.ts";

export async function openKeyStore(
  config: Config,
  baseDir: string,
): Promise<Disposable & { keys: KeyStore }> {
  const server = toSharedServer(config);
  return server === undefined ? openOwnKeys(config, baseDir) : await openSharedKeys(server);
}

export function openOwnKeys(config: Config, baseDir: string) {
  const keys = new SqliteKeys(join(dataDirOf(config, baseDir), keysFile));
  return { keys, [Symbol.dispose]: () => keys[Symbol.dispose]() };
}

/** Longer than for a request, since a person waits. */
const timeoutMs = 5000;

export async function openSharedKeys(server: RedisOptions) {
  const { RedisConnection } = await import("../../gateway/redis/connection.ts");
  const { RedisKeyStore } = await import("../../gateway/redis/key-store.ts");
  const connection = new RedisConnection({ ...server, timeoutMs });
  await connection.open();
  const { problem, address } = connection;
  if (problem !== undefined) {
    connection[Symbol.dispose]();
    throw new CommandError(`Redis at ${address} cannot be used: ${problem}.`);
  }
  const keys = new RedisKeyStore(connection);
  return {
    keys,
    address,
    serverFacts: () => connection.facts(),
    [Symbol.dispose]: () => connection[Symbol.dispose](),
  };
}

/** Ids of stores given by name or id, `:read` included. Unknown names could be another's later. */
export async function vectorStoreIds(
  shell: Shell,
  config: Config,
  names: readonly string[],
): Promise<string[]> {
  const log = createCommandLog(config, shell.isTerminal);
  await using registry = sqliteDocuments(join(dataDirOf(config, shell.cwd), documentsFile), log);
  const access = new StoreAccess({
    registry,
    store: collectionStore({ config, baseDir: shell.cwd, log }),
    ownCollection: config.vectorstore.collection_name,
    now: () => new Date(),
    expiryTime: () => new Date(),
    log,
  });
  const ids: string[] = [];
  for (const name of names) {
    try {
      const [, called = name, rights = ""] = /^(.*?)(:read)?$/.exec(name) ?? [];
      ids.push(`${(await access.find(theNode, called, "--vector-store")).id}${rights}`);
    } catch (error) {
      if (!(error instanceof NodeError && error.kind === "no_such_object")) throw error;
      const known = (await registry.allStores()).map((store) => store.name || store.id);
      throw new CommandError(
        `There is no vector store '${name}'. There are: ${known.join(", ")}. 'paddock ingest' makes one under a name that --collection gives.`,
      );
    }
  }
  return [...new Set(ids)];
}
