/** Opens the keys of the data dir, or those that nodes share in Redis. */
import { join } from "node:path";
import type { Config } from "../config/schema.ts";
import type { KeyStore } from "../core/limits/api-key.ts";
import type { RedisOptions } from "../gateway/redis/connection.ts";
import { dataDirOf, toSharedServer } from "../node/node-settings.ts";
import { keysFile, SqliteKeys } from "../store/keys/sqlite-keys.ts";
import { CommandError } from "./shell.ts";

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
  const { RedisConnection } = await import("../gateway/redis/connection.ts");
  const { RedisKeyStore } = await import("../gateway/redis/key-store.ts");
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
