/** What a Redis server says of itself that matters to those who keep keys there. */
import type { RedisConnection } from "./connection.ts";

export interface ServerFacts {
  version: string;
  evictionPolicy: string;
  /** Whether it may drop what has no end of its own, as the keys have none. */
  evictsKeys: boolean;
}

export async function readServerFacts(connection: RedisConnection): Promise<ServerFacts> {
  const text = String(await connection.call("INFO"));
  const fact = (name: string): string =>
    new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(text)?.[1] ?? "";
  const evictionPolicy = fact("maxmemory_policy");
  return {
    version: fact("redis_version"),
    evictionPolicy,
    evictsKeys: evictionPolicy.startsWith("allkeys-"),
  };
}
