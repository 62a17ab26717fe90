/** Authentication: keys in a header, compared in constant time. */
import { createHash, timingSafeEqual } from "node:crypto";
import { boundStores, type DocumentQuota } from "../../core/documents/document-caller.ts";
import { type ErrorKind, NodeError } from "../../core/errors.ts";
import { type ApiKey, type KeyRing, type Scope, stateOf } from "../../core/limits/api-key.ts";
import type { CallerLimits } from "../../core/limits/rate-limiter.ts";
import type { OperationFacts } from "../operation.ts";
import type { RequestContext } from "../request-context.ts";

export interface Caller {
  /** Tells callers apart, and is no secret; absent for who needs no key. */
  id?: string;
  /** Who it is, in logs. */
  name: string;
  /** As a message calls it. */
  called: string;
  /** The caller's own limits. */
  limits: Readonly<Partial<CallerLimits>>;
  /** Its own bounds for documents. */
  quota?: Readonly<Partial<DocumentQuota>>;
  /** Ids of the vector stores that it is bound to; absent: it may use all. */
  vectorStores?: readonly string[];
  /** Those of them that it may only read. */
  readOnlyStores?: readonly string[];
}

export interface Access {
  /** Whether a request must carry a key. */
  wantsKeys(): boolean;
  /**
   * Refuses a request that carries no key for what it asks; without keys everyone may come in.
   * Says who the caller is.
   */
  check(request: Request, ...wanted: readonly Scope[]): Caller;
}

/** Who asks, as far as the operation wants to know; refuses who may not ask. */
export function authenticate(
  context: RequestContext,
  { scope, key = "none" }: OperationFacts,
  isOpen: boolean,
): void {
  if (scope !== undefined) context.authenticate(scope);
  else if (key === "required" && !isOpen) context.authenticate();
  else if (key === "optional") recognize(context);
}

/** Refuses a caller whose key does not open what the body asks for. */
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
export function offeredKey({ headers }: Request): string | undefined {
  const bearer = /^Bearer\s+(\S+)\s*$/i.exec(headers.get("authorization") ?? "")?.[1];
  return bearer ?? (headers.get("x-api-key")?.trim() || undefined);
}

/** Digests have one length, which a comparison in constant time needs. */
export const digest = (key: string): Buffer => createHash("sha256").update(key).digest();
