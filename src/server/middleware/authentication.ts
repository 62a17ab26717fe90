/** Authentication: keys in a header, compared in constant time, and not guessed. */
import { createHash, timingSafeEqual } from "node:crypto";
import { boundStores, type DocumentCaller } from "../../core/documents/document-caller.ts";
import { type ErrorKind, NodeError } from "../../core/errors.ts";
import { type ApiKey, type KeyRing, type Scope, stateOf } from "../../core/limits/api-key.ts";
import type { CallerLimits } from "../../core/limits/rate-limiter.ts";
import { TokenBucket } from "../../core/limits/token-bucket.ts";
import type { Log } from "../../core/log.ts";
import type { Connections } from "../listen.ts";
import type { OperationFacts } from "../operation.ts";
import type { RequestContext } from "../request-context.ts";

export interface Caller extends DocumentCaller {
  /** In logs. */
  name: string;
  limits: Readonly<Partial<CallerLimits>>;
}

export interface Access {
  wantsKeys(): boolean;
  /**
   * Refuses a request that carries no key for what it asks; without keys everyone may come in.
   * Says who the caller is.
   */
  check(request: Request, ...wanted: readonly Scope[]): Caller;
}

/** The caller, as far as the operation needs to know; rejects one that has no access. */
export function authenticate(
  context: RequestContext,
  { scope, key = "none" }: OperationFacts,
  isOpen: boolean,
): void {
  if (scope !== undefined) context.authenticate(scope);
  else if (key === "required" && !isOpen) context.authenticate();
  else if (key === "optional") recognize(context);
}

export function authorize(
  context: RequestContext,
  { scope }: OperationFacts,
  more: readonly Scope[],
): void {
  if (scope !== undefined && more.length > 0) context.authenticate(scope, ...more);
}

/** Kinds of error of a caller who is nobody that the node knows. */
const unknown: readonly ErrorKind[] = ["unauthenticated", "too_many_requests"];

/** A caller without a key of this node's stays a stranger, and is answered all the same. */
function recognize(context: RequestContext): void {
  try {
    context.authenticate();
  } catch (error) {
    if (!(error instanceof NodeError && unknown.includes(error.kind))) throw error;
  }
}

/** `fixed`: keys of the configuration, which open everything; `ring`: keys that were given out. */
export function keyAccess(fixed: readonly string[], ring?: KeyRing): Access {
  const known = fixed.map(digest);
  const wantsKeys = (): boolean => known.length > 0 || ring?.hasKeys() === true;
  return {
    wantsKeys,
    check(request, ...wanted) {
      if (!wantsKeys()) return anyone;
      const offered = offeredKey(request);
      if (offered === undefined) {
        throw new NodeError(
          "unauthenticated",
          "An API key is needed: send the header 'Authorization: Bearer <key>' or 'x-api-key: <key>'.",
        );
      }
      const match = indexOf(known, digest(offered));
      if (match !== -1) return fixedCaller(configuredKeyId(offered), match + 1);
      const key = ring?.find(offered);
      if (key === undefined) {
        throw new NodeError(
          "unauthenticated",
          "The API key is not one of this node's. Check the key in your 'Authorization' or 'x-api-key' header.",
        );
      }
      return accept(key, wanted);
    },
  };
}

const anyone: Caller = { name: "anyone", called: "A caller without a key", limits: {} };

/** Of what the key is, not of its place: another key at that place must not have what is this one's. */
export const configuredKeyId = (key: string): string =>
  `configured ${digest(`id of ${key}`).toString("hex").slice(0, 24)}`;

const fixedCaller = (id: string, number: number): Caller => ({
  id,
  name: `key ${number}`,
  called: `Key ${number} of the configuration`,
  limits: {},
});

function accept(key: ApiKey, wanted: readonly Scope[]): Caller {
  const state = stateOf(key);
  if (state !== "valid") {
    throw new NodeError(
      "unauthenticated",
      `The API key '${key.name}' is ${state}. Ask for another.`,
    );
  }
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

/** Every key is compared, so that the time taken tells nothing of which one came close. */
function indexOf(known: readonly Buffer[], offered: Buffer): number {
  const [match = -1] = known.flatMap((key, at) => (timingSafeEqual(key, offered) ? [at] : []));
  return match;
}

/** As clients of the OpenAI API send it, or as those of Anthropic's do. */
function offeredKey({ headers }: Request): string | undefined {
  const bearer = /^Bearer\s+(\S+)\s*$/i.exec(headers.get("authorization") ?? "")?.[1];
  return bearer ?? (headers.get("x-api-key")?.trim() || undefined);
}

/** Digests have one length, which a comparison in constant time needs. */
const digest = (key: string): Buffer => createHash("sha256").update(key).digest();

interface FailedKeyOptions {
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

/** The same access, where no more keys of an address are looked at for a while after many wrong ones. */
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

function forgetOldest(known: Map<string, unknown> | Set<string>, count: number): void {
  if (known.size <= count) return;
  for (const oldest of known.keys()) {
    known.delete(oldest);
    return;
  }
}

const tooManyGuesses = (retryAfterMs: number): NodeError =>
  new NodeError(
    "too_many_requests",
    "Too many wrong keys came from this address, and no more are looked at for a while. Check your key, and try again later.",
    { retryAfterMs },
  );
