/** Authentication by API key: constant-time comparison, and protection against guessing. */
import { createHash, timingSafeEqual } from "node:crypto";
import { boundStores, type DocumentCaller } from "../../core/documents/document-caller.ts";
import { type ErrorKind, NodeError } from "../../core/errors.ts";
import { type ApiKey, type KeyRing, type Scope, stateOf } from "../../core/limits/api-key.ts";
import { type CallerLimits, TokenBucket } from "../../core/limits/rate-limiter.ts";
import type { Log } from "../../core/log.ts";
import type { Connections } from "../listen.ts";
import type { OperationFacts } from "../operation.ts";
import type { RequestContext } from "../request-context.ts";

export interface Caller extends DocumentCaller {
  /** The name in logs. */
  name: string;
  limits: Readonly<Partial<CallerLimits>>;
}

export interface Access {
  wantsKeys(): boolean;
  /**
   * Returns the caller of a request. Rejects a request without a key that opens what it asks for;
   * on a node without keys, everyone has access.
   */
  check(request: Request, ...wanted: readonly Scope[]): Caller;
}

export function authenticate(
  context: RequestContext,
  { scope, key = "none" }: OperationFacts,
  isOpen: boolean,
): void {
  if (scope !== undefined) context.authenticate(scope);
  else if (key === "required" && !isOpen) context.authenticate();
  else if (key === "optional") recognize(context);
}

const unknown: readonly ErrorKind[] = ["unauthenticated", "too_many_requests"];

/** A caller without a valid key stays a stranger, and still gets an answer. */
function recognize(context: RequestContext): void {
  try {
    context.authenticate();
  } catch (error) {
    if (!(error instanceof NodeError && unknown.includes(error.kind))) throw error;
  }
}

/** `fixed`: keys from the configuration, which open everything; `ring`: keys of `paddock keys`. */
export function keyAccess(fixed: readonly string[], ring?: KeyRing): Access {
  const known = fixed.map(digest);
  const wantsKeys = (): boolean => known.length > 0 || ring?.hasKeys() === true;
  return {
    wantsKeys,
    check(request, ...wanted) {
      if (!wantsKeys()) return anyone;
      const offered = offeredKey(request);
      if (offered === undefined) {
        throw unauthenticated(
          "An API key is needed: send the header 'Authorization: Bearer <key>' or 'x-api-key: <key>'.",
        );
      }
      const digested = digest(offered);
      // Compares every key, so that the time reveals nothing about which one came close.
      const match = known.map((key) => timingSafeEqual(key, digested)).indexOf(true);
      if (match !== -1) {
        const called = `Key ${match + 1} of the configuration`;
        return { id: configuredKeyId(offered), name: `key ${match + 1}`, called, limits: {} };
      }
      const key = ring?.find(offered);
      if (key === undefined) {
        throw unauthenticated(
          "The API key is not one of this node's. Check the key in your 'Authorization' or 'x-api-key' header.",
        );
      }
      return accept(key, wanted);
    },
  };
}

const unauthenticated = (message: string): NodeError => new NodeError("unauthenticated", message);

const anyone: Caller = { name: "anyone", called: "A caller without a key", limits: {} };

/** Derived from the key, not from its position: a key that replaces it must not get its data. */
export const configuredKeyId = (key: string): string =>
  `configured ${digest(`id of ${key}`).toString("hex").slice(0, 24)}`;

function accept(key: ApiKey, wanted: readonly Scope[]): Caller {
  const state = stateOf(key);
  if (state !== "valid")
    throw unauthenticated(`The API key '${key.name}' is ${state}. Ask for another.`);
  const missing = wanted.filter((scope) => !key.scopes.includes(scope));
  if (missing.length > 0) {
    throw new NodeError(
      "forbidden",
      `The API key '${key.name}' does not open '${missing.join("', '")}'; it opens '${key.scopes.join("', '")}'.`,
    );
  }
  const { id, name, limits, quota, vectorStores } = key;
  return { id, name, called: `The key '${name}'`, limits, quota, ...boundStores(vectorStores) };
}

/** Wraps an access: without a key, nobody manages models, which could fill the disk or delete files. */
export function withoutManaging(access: Access): Access {
  return {
    wantsKeys: () => access.wantsKeys(),
    check(request, ...wanted) {
      if (access.wantsKeys() || !wanted.includes("models")) return access.check(request, ...wanted);
      const why =
        "This node serves everyone without a key ([auth] open), so its models are managed on its machine only: 'paddock pull', 'paddock models rm'.";
      throw new NodeError("forbidden", why);
    },
  };
}

/** The key in the header of OpenAI's clients, or of Anthropic's. */
function offeredKey({ headers }: Request): string | undefined {
  const bearer = /^Bearer\s+(\S+)\s*$/i.exec(headers.get("authorization") ?? "")?.[1];
  return bearer ?? (headers.get("x-api-key")?.trim() || undefined);
}

/** All digests have the same length, which a constant-time comparison needs. */
const digest = (key: string): Buffer => createHash("sha256").update(key).digest();

interface FailedKeyOptions {
  connections: Connections;
  log: Log;
  /** Milliseconds of a monotonic clock. */
  now: () => number;
}

/** Wrong keys per minute and address; remembered addresses, and remembered keys of each. */
const most = { failures: 30, clients: 10_000, keys: 1000 };

interface Client {
  failures: TokenBucket;
  /** Digests of valid keys from this address: a neighbour who guesses must not lock them out. */
  accepted: Set<string>;
  /** Digests of wrong keys: a program that repeats its old key is not guessing. */
  rejected: Set<string>;
  /** Whether a warning was logged; reset when it has sent no wrong keys for a while. */
  isTold: boolean;
}

/** Wraps an access: after many wrong keys, an address's new keys are not checked for a while. */
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
    forgetOldest(clients.set(name, client), most.clients);
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
        forgetOldest(accepted.add(key), most.keys);
        return caller;
      } catch (error) {
        if (!(error instanceof NodeError && error.kind === "unauthenticated")) throw error;
        if (rejected.has(key)) throw error;
        forgetOldest(rejected.add(key), most.keys);
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

function forgetOldest(known: Map<string, unknown> | Set<string>, count: number): void {
  const [oldest] = known.size > count ? known.keys() : [];
  if (oldest !== undefined) known.delete(oldest);
}

const tooManyGuesses = (retryAfterMs: number): NodeError =>
  new NodeError(
    "too_many_requests",
    "Too many wrong keys came from this address, and no more are looked at for a while. Check your key, and try again later.",
    { retryAfterMs },
  );
