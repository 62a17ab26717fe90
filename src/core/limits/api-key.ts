/** API keys: name, scopes, limits and expiry, and the ports to look them up and create them. */
import type { DocumentQuota } from "../documents/document-caller.ts";
import { NodeError } from "../errors.ts";
import type { CallerLimits } from "./rate-limiter.ts";

export const scopes = ["chat", "embeddings", "retrieve", "documents", "models"] as const;

export type Scope = (typeof scopes)[number];

/** Those of a key that names none: it uses what the node has, and does not change the node. */
export const usualScopes = scopes.filter((scope) => scope !== "models");

export interface ApiKey {
  /** The public part of the key; identifies it in lists and logs. */
  id: string;
  name: string;
  scopes: readonly Scope[];
  /** Its own limits; the node's apply to the rest. */
  limits: Readonly<Partial<CallerLimits>>;
  quota: Readonly<Partial<DocumentQuota>>;
  /** Ids of the vector stores that it is bound to, with the suffix `:read` for read-only; absent: all. */
  vectorStores?: readonly string[];
  createdAt: Date;
  expiresAt?: Date;
  revokedAt?: Date;
}

export type KeyState = "valid" | "expired" | "revoked";

export function stateOf({ expiresAt, revokedAt }: ApiKey, now = new Date()): KeyState {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && expiresAt <= now ? "expired" : "valid";
}

export interface KeyRing {
  /** Whether a key was ever created: from then on, every caller needs one. */
  hasKeys(): boolean;
  /** The key with this text; undefined if there is none. Takes the same time in both cases. */
  find(text: string): ApiKey | undefined;
  byId(id: string): ApiKey | undefined;
}

export type NewKey = Pick<ApiKey, "name" | "scopes" | "expiresAt" | "vectorStores"> &
  Partial<Pick<ApiKey, "limits" | "quota">>;

/** Creates and revokes keys: in a file of this node, or on a server that several nodes share. */
export interface KeyStore {
  list(): readonly ApiKey[] | Promise<readonly ApiKey[]>;
  /** The text of the key is returned once, and never stored. */
  create(wanted: NewKey): NewKeyText | Promise<NewKeyText>;
  /** By id or name; undefined if there is no such key. A revoked key keeps its date. */
  revoke(idOrName: string): ApiKey | undefined | Promise<ApiKey | undefined>;
}

interface NewKeyText {
  key: ApiKey;
  text: string;
}

export const nameIsTaken = (name: string): NodeError =>
  new NodeError(
    "invalid_request",
    `There is a key named '${name}' already. Choose another name; a revoked key keeps its own.`,
  );
