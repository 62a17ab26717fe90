/** The stored record of an API key: never its text, only a salted digest of it. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { given } from "../../core/given.ts";
import { type ApiKey, type NewKey, scopes } from "../../core/limits/api-key.ts";

/** A type, since an interface cannot be passed as named parameters. */
export type KeyRecord = {
  id: string;
  name: string;
  scopes: string;
  salt: Uint8Array;
  digest: Uint8Array;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  concurrency: number | null;
  document_bytes: number | null;
  document_passages: number | null;
  /** Ids, each as in an address, separated by spaces. */
  vector_stores: string | null;
};

const form = /^pk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/;

export function newKeyRecord(key: NewKey): { record: KeyRecord; text: string } {
  const { name, scopes: wanted, expiresAt, limits = {}, quota = {}, vectorStores } = key;
  const id = randomBytes(6).toString("hex");
  const secret = randomBytes(32).toString("base64url");
  const salt = randomBytes(16);
  const record: KeyRecord = {
    id,
    name,
    scopes: wanted.join(" "),
    salt,
    digest: digestOf(salt, secret),
    created_at: Date.now(),
    expires_at: expiresAt?.getTime() ?? null,
    revoked_at: null,
    requests_per_minute: limits.requestsPerMinute ?? null,
    tokens_per_minute: limits.tokensPerMinute ?? null,
    concurrency: limits.concurrency ?? null,
    document_bytes: quota.bytes ?? null,
    document_passages: quota.passages ?? null,
    vector_stores: vectorStores?.map(encodeURI).join(" ") ?? null,
  };
  return { record, text: `pk_${id}_${secret}` };
}

/** The key with this text, looked up by its id; takes the same time whether or not it exists. */
export function matchKey(
  text: string,
  find: (id: string) => KeyRecord | null | undefined,
): ApiKey | undefined {
  const [, id = "", secret = ""] = form.exec(text) ?? [];
  const record = find(id);
  const digest = digestOf(record?.salt ?? nobody.salt, secret);
  const isRight = timingSafeEqual(digest, record?.digest ?? nobody.digest);
  return isRight && record != null ? toKey(record) : undefined;
}

const digestOf = (salt: Uint8Array, secret: string): Buffer =>
  createHash("sha256").update(salt).update(secret).digest();

/** Compared with if there is no such key, so that it takes the same time. */
const nobody = { salt: randomBytes(16), digest: randomBytes(32) };

export function toKey(record: KeyRecord): ApiKey {
  const held = record.scopes.split(" ");
  return {
    id: record.id,
    name: record.name,
    scopes: scopes.filter((scope) => held.includes(scope)),
    limits: given({
      requestsPerMinute: record.requests_per_minute ?? undefined,
      tokensPerMinute: record.tokens_per_minute ?? undefined,
      concurrency: record.concurrency ?? undefined,
    }),
    quota: given({
      bytes: record.document_bytes ?? undefined,
      passages: record.document_passages ?? undefined,
    }),
    ...given({ vectorStores: toIds(record.vector_stores) }),
    createdAt: new Date(record.created_at),
    ...(record.expires_at === null ? {} : { expiresAt: new Date(record.expires_at) }),
    ...(record.revoked_at === null ? {} : { revokedAt: new Date(record.revoked_at) }),
  };
}

function toIds(stored: string | null): string[] | undefined {
  return stored?.split(" ").flatMap((id) => {
    try {
      return id === "" ? [] : decodeURI(id);
    } catch {
      // Written by another program: it opens what it says, and that is not there.
      return id;
    }
  });
}
