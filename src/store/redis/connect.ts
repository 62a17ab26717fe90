/**
 * One connection to a Redis server, with Bun's own client. It connects once and never again by
 * itself: Bun's reconnecting forgets subscriptions, and says neither that nor why it failed.
 */
import { RedisClient } from "bun";
import { NoAnswer } from "./reasons.ts";

export interface RedisServer {
  /** `redis://` or `rediss://`, with credentials or without. */
  url: string;
  /** Instead of the address' own. */
  password?: string;
}

/** Where the server is, without credentials. */
export function addressOf({ url }: RedisServer): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port === "" ? "6379" : port}`;
}

/** A client that has not connected yet: its first command does, and hears why it could not. */
export function newClient({ url, password }: RedisServer, connectMs: number): RedisClient {
  const address = new URL(url);
  if (password !== undefined) address.password = encodeURIComponent(password);
  return new RedisClient(address.href, {
    autoReconnect: false,
    connectionTimeout: connectMs,
  });
}

/** One more turn of the loop: an answer may be there that this process had no time to read. */
const lateTurnMs = 5;

/** The outcome of a command, or a failure where it takes longer. */
export async function within<Value>(ms: number, outcome: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>();
  let timer = setTimeout(() => {
    timer = setTimeout(() => late.reject(new NoAnswer(ms)), lateTurnMs);
  }, ms);
  try {
    return await Promise.race([outcome, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
