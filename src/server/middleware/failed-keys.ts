/** Wrong keys, by the address that they come from: after a few, no more of them are looked at for a while. */
import { NodeError } from "../../core/errors.ts";
import { TokenBucket } from "../../core/limits/token-bucket.ts";
import type { Log } from "../../core/log.ts";
import type { Connections } from "../connections.ts";
import { type Access, digest, offeredKey } from "./authentication.ts";

export interface FailedKeyOptions {
  connections: Connections;
  log: Log;
  /** Milliseconds of a clock that never jumps. */
  now: () => number;
}

/** Wrong keys a minute of one address; addresses, and keys of each, that are remembered. */
const most = { failures: 30, clients: 10_000, keys: 1000 };

interface Client {
  failures: TokenBucket;
  /** Digests of keys that were right from there: a neighbour who guesses must not lock them out. */
  accepted: Set<string>;
  /** Digests of those that were wrong: a program that sends its old key again and again does not guess. */
  rejected: Set<string>;
  /** Whether the log has it, since it last sent none. */
  isTold: boolean;
}

/** The same access, for addresses that have not just sent many wrong keys. */
export function withoutGuessing(access: Access, options: FailedKeyOptions): Access {
  const { connections, log, now } = options;
  const clients = new Map<string, Client>();
  const remembered = (name: string): Client => {
    const client = clients.get(name) ?? {
      failures: new TokenBucket(most.failures, now),
      accepted: new Set(),
      rejected: new Set(),
      isTold: false,
    };
    clients.set(name, client);
    forgetOldest(clients, most.clients);
    return client;
  };
  return {
    wantsKeys: () => access.wantsKeys(),
    check(request, ...wanted) {
      const name = connections.remoteClientOf(request);
      const offered = offeredKey(request);
      if (name === undefined || offered === undefined || !access.wantsKeys()) {
        return access.check(request, ...wanted);
      }
      const client = remembered(name);
      const { failures, accepted, rejected } = client;
      const key = digest(offered).toString("base64");
      const waitMs = failures.waitMs(1);
      if (waitMs > 0 && !accepted.has(key) && !rejected.has(key)) throw tooManyGuesses(waitMs);
      try {
        const caller = access.check(request, ...wanted);
        remember(accepted, key);
        return caller;
      } catch (error) {
        if (!(error instanceof NodeError && error.kind === "unauthenticated")) throw error;
        if (rejected.has(key)) throw error;
        remember(rejected, key);
        if (failures.isFull) client.isTold = false;
        failures.take(1);
        if (failures.waitMs(1) > 0 && !client.isTold) {
          client.isTold = true;
          log.warn("an address sends wrong keys; no more of them are looked at for a while", {
            client: name,
          });
        }
        throw error;
      }
    },
  };
}

function remember(keys: Set<string>, key: string): void {
  keys.add(key);
  forgetOldest(keys, most.keys);
}

function forgetOldest(kept: Map<string, unknown> | Set<string>, count: number): void {
  if (kept.size <= count) return;
  for (const oldest of kept.keys()) {
    kept.delete(oldest);
    return;
  }
}

const tooManyGuesses = (retryAfterMs: number): NodeError =>
  new NodeError(
    "too_many_requests",
    "Too many wrong keys came from this address, and no more are looked at for a while. Check your key, and ask again later.",
    { retryAfterMs },
  );
