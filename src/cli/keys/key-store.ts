/** Where keys are given out: the file of the data dir, or the server that several nodes share. */
import { join } from "node:path";
import type { Config } from "../../config/schema.ts";
import { NodeError } from "../../core/errors.ts";
import type { KeyStore } from "../../core/limits/api-key.ts";
import type { RedisFacts, RedisOptions } from "../../gateway/redis/connection.ts";
import type { RedisKeyStore } from "../../gateway/redis/key-store.ts";
import { dataDirOf } from "../../node/data-dir.ts";
import { toSharedServer } from "../../node/node-settings.ts";
import { keysFile, SqliteKeys } from "../../store/keys/sqlite-keys.ts";

interface OpenKeyStore<Keys extends KeyStore = KeyStore> extends Disposable {
  keys: Keys;
}

interface OpenSharedKeys extends OpenKeyStore<RedisKeyStore> {
  /** Of the server, without credentials. */
  address: string;
  serverFacts(): Promise<RedisFacts>;
}

export async function openKeyStore(config: Config, baseDir: string): Promise<OpenKeyStore> {
  const server = toSharedServer(config);
  return server === undefined ? openOwnKeys(config, baseDir) : await openSharedKeys(server);
}

export function openOwnKeys(config: Config, baseDir: string): OpenKeyStore<SqliteKeys> {
  const keys = new SqliteKeys(join(dataDirOf(config, baseDir), keysFile));
  return { keys, [Symbol.dispose]: () => keys[Symbol.dispose]() };
}

/** A person waits for longer than a request does. */
const timeoutMs = 5000;

export async function openSharedKeys(server: RedisOptions): Promise<OpenSharedKeys> {
  const { RedisConnection } = await import("../../gateway/redis/connection.ts");
  const { RedisKeyStore } = await import("../../gateway/redis/key-store.ts");
  const connection = new RedisConnection({ ...server, timeoutMs });
  await connection.open();
  const { problem, address } = connection;
  if (problem !== undefined) {
    connection[Symbol.dispose]();
    throw new NodeError("unavailable", `Redis at ${address} cannot be used: ${problem}.`);
  }
  const keys = new RedisKeyStore(connection);
  return {
    keys,
    address,
    serverFacts: () => connection.facts(),
    [Symbol.dispose]: () => connection[Symbol.dispose](),
  };
}
