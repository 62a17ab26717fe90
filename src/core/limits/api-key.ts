/** Keys that a node gives out: who holds one, what it opens, how much, and until when. */
import type { DocumentQuota } from "../documents/document-caller.ts";
import { NodeError } from "../errors.ts";
import type { CallerLimits } from "./rate-limiter.ts";

export const scopes = ["chat", "embeddings", "retrieve", "documents"] as const;

export type Scope = (typeof scopes)[number];

export interface ApiKey {
  /** The part of the key that is no secret; it names the key in lists and logs. */
  id: string;
  /** Who holds it. */
  name: string;
  scopes: readonly Scope[];
  /** Its own limits; the node's hold where it has none. */
  limits: Readonly<Partial<CallerLimits>>;
  /** How much of documents it may have; the node's bounds hold where it has none. */
  quota: Readonly<Partial<DocumentQuota>>;
  /** Ids of the vector stores that it is bound to, with `:read` behind one that it may only read; absent: it may use all. */
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

/** Where given-out keys are looked up. */
export interface KeyRing {
  /** Whether a key was ever given out: from then on nobody comes in without one. */
  hasKeys(): boolean;
  /** The key with this text; undefined where there is none. Takes as long whether there is or not. */
  find(text: string): ApiKey | undefined;
  /** By the part of it that is no secret. */
  byId(id: string): ApiKey | undefined;
}

export type NewKey = Pick<ApiKey, "name" | "scopes" | "expiresAt" | "vectorStores"> &
  Partial<Pick<ApiKey, "limits" | "quota">>;

/** Where keys are given out and revoked: a file of this node's, or a server that several nodes share. */
export interface KeyStore {
  list(): readonly ApiKey[] | Promise<readonly ApiKey[]>;
  /** The text of the key is shown once, and stored nowhere. */
  create(wanted: NewKey): NewKeyText | Promise<NewKeyText>;
  /** By id or name; undefined where there is no such key. A revoked key keeps its date. */
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
