/**
 * API keys in a SQLite file of the data dir. Only a salted digest of a key is stored, so that nobody
 * can authenticate with what the file holds. Every process that has it open sees a change at once.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { DocumentQuota } from "../../core/documents/document-caller.ts";
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import { type ApiKey, type KeyRing, type Scope, scopes } from "../../core/limits/api-key.ts";
import type { CallerLimits } from "../../core/limits/rate-limiter.ts";
import { KeysFile } from "./keys-file.ts";

interface Row {
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
  /** Ids with spaces between. */
  vector_stores: string | null;
}

export interface NewKey {
  name: string;
  scopes: readonly Scope[];
  expiresAt?: Date;
  /** Absent: the limits of the node. */
  limits?: Partial<CallerLimits>;
  quota?: Partial<DocumentQuota>;
  /** Ids of the vector stores that it is bound to; absent: it may use all. */
  vectorStores?: readonly string[];
}

/** Its name in the data dir. */
export const keysFile = "keys.sqlite";

const form = /^pk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/;
/** A row as named parameters. */
type Bound<Fields> = { [Field in keyof Fields]: Fields[Field] };

const insert = `
  insert into keys (id, name, scopes, salt, digest, created_at, expires_at,
    requests_per_minute, tokens_per_minute, concurrency, document_bytes, document_passages,
    vector_stores)
  values ($id, $name, $scopes, $salt, $digest, $created_at, $expires_at,
    $requests_per_minute, $tokens_per_minute, $concurrency, $document_bytes, $document_passages,
    $vector_stores)`;

export class SqliteKeys implements KeyRing, Disposable {
  readonly #file: KeysFile;
  #hadKeys = false;

  /** No file is made until a key is. */
  constructor(path: string) {
    this.#file = new KeysFile(path);
  }

  /** Stays true once there was a key: rows are never removed, and a missing file must not open the node. */
  hasKeys(): boolean {
    this.#hadKeys ||=
      this.#file.read((database) => database.query("select 1 from keys limit 1").get()) != null;
    return this.#hadKeys;
  }

  find(text: string): ApiKey | undefined {
    const [, id = "", secret = ""] = form.exec(text) ?? [];
    const row = this.#file.read((database) =>
      database.query<Row, [string]>("select * from keys where id = ?").get(id),
    );
    const digest = digestOf(row?.salt ?? nobody.salt, secret);
    const isRight = timingSafeEqual(digest, row?.digest ?? nobody.digest);
    return isRight && row != null ? toKey(row) : undefined;
  }

  /** By the part of it that is no secret. */
  byId(id: string): ApiKey | undefined {
    const row = this.#file.read((database) =>
      database.query<Row, [string]>("select * from keys where id = ?").get(id),
    );
    return row == null ? undefined : toKey(row);
  }

  list(): ApiKey[] {
    const rows = this.#file.read((database) =>
      database.query<Row, []>("select * from keys order by created_at").all(),
    );
    return (rows ?? []).map(toKey);
  }

  /** The returned text of the key is stored nowhere. */
  create(wanted: NewKey): { key: ApiKey; text: string } {
    const { name, expiresAt, limits = {}, quota = {}, vectorStores } = wanted;
    const id = randomBytes(6).toString("hex");
    const secret = randomBytes(32).toString("base64url");
    const salt = randomBytes(16);
    const row: Row = {
      id,
      name,
      scopes: wanted.scopes.join(" "),
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
      vector_stores: vectorStores?.join(" ") ?? null,
    };
    this.#file.write((database) => {
      if (database.query("select 1 from keys where name = ?").get(name) != null) {
        throw new NodeError(
          "invalid_request",
          `There is a key named '${name}' already. Choose another name; a revoked key keeps its own.`,
        );
      }
      database.query<void, [Bound<Row>]>(insert).run({ ...row });
    });
    return { key: toKey(row), text: `pk_${id}_${secret}` };
  }

  /** By id or name; undefined where there is no such key. A revoked key keeps its date. */
  revoke(idOrName: string): ApiKey | undefined {
    const row = this.#file.read((database) =>
      database
        .query<Row, [string, string]>("select * from keys where id = ? or name = ?")
        .get(idOrName, idOrName),
    );
    if (row == null) return undefined;
    const revokedAt = row.revoked_at ?? Date.now();
    this.#file.write((database) =>
      database
        .query<void, [number, string]>("update keys set revoked_at = ? where id = ?")
        .run(revokedAt, row.id),
    );
    return toKey({ ...row, revoked_at: revokedAt });
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}

const digestOf = (salt: Uint8Array, secret: string): Buffer =>
  createHash("sha256").update(salt).update(secret).digest();

/** Compared with where no key matches, so that it takes the same time. */
const nobody = { salt: randomBytes(16), digest: randomBytes(32) };

function toKey(row: Row): ApiKey {
  const held = row.scopes.split(" ");
  return {
    id: row.id,
    name: row.name,
    scopes: scopes.filter((scope) => held.includes(scope)),
    limits: given({
      requestsPerMinute: row.requests_per_minute ?? undefined,
      tokensPerMinute: row.tokens_per_minute ?? undefined,
      concurrency: row.concurrency ?? undefined,
    }),
    quota: given({
      bytes: row.document_bytes ?? undefined,
      passages: row.document_passages ?? undefined,
    }),
    ...given({ vectorStores: row.vector_stores?.split(" ").filter((id) => id !== "") }),
    createdAt: new Date(row.created_at),
    ...(row.expires_at === null ? {} : { expiresAt: new Date(row.expires_at) }),
    ...(row.revoked_at === null ? {} : { revokedAt: new Date(row.revoked_at) }),
  };
}
