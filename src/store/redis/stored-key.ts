/** A key as the server keeps it: the same digests as in a file, as JSON. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { KeyRecord } from "../keys/key-record.ts";

const Count = T.Union([T.Integer({ minimum: 0 }), T.Null()]);
const base64 = (bytes: number) =>
  T.String({ pattern: `^[A-Za-z0-9+/]{${Math.ceil((bytes * 4) / 3)}}={0,2}$` });

/** All of it but whether it was revoked, which is kept apart: a record is written once and stays. */
const StoredKey = T.Object({
  id: T.String({ pattern: "^[0-9a-f]{12}$" }),
  name: T.String({ minLength: 1, maxLength: 64 }),
  scopes: T.String({ maxLength: 200 }),
  salt: base64(16),
  digest: base64(32),
  created_at: T.Integer(),
  expires_at: T.Union([T.Integer(), T.Null()]),
  requests_per_minute: Count,
  tokens_per_minute: Count,
  concurrency: Count,
  document_bytes: Count,
  document_passages: Count,
  vector_stores: T.Union([T.String({ maxLength: 10_000 }), T.Null()]),
});

type StoredKey = Static<typeof StoredKey>;

export function toStored({ revoked_at: _, salt, digest, ...rest }: KeyRecord): string {
  return JSON.stringify({
    ...rest,
    salt: Buffer.from(salt).toString("base64"),
    digest: Buffer.from(digest).toString("base64"),
  } satisfies StoredKey);
}

/** Undefined where it is no key of this kind. */
export function fromStored(text: string, revokedAt: number | null): KeyRecord | undefined {
  const stored = parse(text);
  if (!Value.Check(StoredKey, stored)) return undefined;
  return {
    ...stored,
    salt: Buffer.from(stored.salt, "base64"),
    digest: Buffer.from(stored.digest, "base64"),
    revoked_at: revokedAt,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
