/**
 * Keys in a file of the data dir. Of a key only a salted digest is kept, so that the file lets
 * nobody in. Every process that has it open sees a change at once.
 */
import { Database } from "bun:sqlite";
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { type ApiKey, type KeyRing, type Scope, scopes } from "../core/api-key.ts";
import { NodeError, reasonOf } from "../core/errors.ts";
import type { CallerLimits } from "../core/rate-limit.ts";
import { openUnchangeable } from "../sqlite/unchangeable.ts";

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
}

export interface NewKey {
  name: string;
  scopes: readonly Scope[];
  expiresAt?: Date;
  /** Absent: the node's. */
  limits?: Partial<CallerLimits>;
}

/** Its name in the data dir. */
export const keysFile = "keys.sqlite";

const form = /^pk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/;
const ownerOnly = 0o600;

const table = `
  create table if not exists keys (
    id text primary key,
    name text not null unique,
    scopes text not null,
    salt blob not null,
    digest blob not null,
    created_at integer not null,
    expires_at integer,
    revoked_at integer
  ) strict`;

/** Columns that files of earlier versions do not have. */
const laterColumns = ["requests_per_minute", "tokens_per_minute", "concurrency"] as const;

/** A row as named parameters. */
type Bound<Fields> = { [Field in keyof Fields]: Fields[Field] };

const insert = `
  insert into keys (id, name, scopes, salt, digest, created_at, expires_at,
    requests_per_minute, tokens_per_minute, concurrency)
  values ($id, $name, $scopes, $salt, $digest, $created_at, $expires_at,
    $requests_per_minute, $tokens_per_minute, $concurrency)`;

export class SqliteKeys implements KeyRing, Disposable {
  readonly #path: string;
  #database: Database | undefined;

  /** Nothing is made until a key is. */
  constructor(path: string) {
    this.#path = path;
  }

  hasKeys(): boolean {
    return this.#open()?.query("select 1 from keys limit 1").get() != null;
  }

  find(text: string): ApiKey | undefined {
    const [, id = "", secret = ""] = form.exec(text) ?? [];
    const row = this.#open()?.query<Row, [string]>("select * from keys where id = ?").get(id);
    const digest = digestOf(row?.salt ?? nobody.salt, secret);
    const isRight = timingSafeEqual(digest, row?.digest ?? nobody.digest);
    return isRight && row != null ? toKey(row) : undefined;
  }

  list(): ApiKey[] {
    const rows = this.#open()?.query<Row, []>("select * from keys order by created_at").all();
    return (rows ?? []).map(toKey);
  }

  /** The key's text is here and nowhere else. */
  create({ name, scopes: wanted, expiresAt, limits = {} }: NewKey): { key: ApiKey; text: string } {
    const id = randomBytes(6).toString("hex");
    const secret = randomBytes(32).toString("base64url");
    const salt = randomBytes(16);
    const database = this.#open({ create: true });
    if (database?.query("select 1 from keys where name = ?").get(name) != null) {
      throw new NodeError(
        "invalid_request",
        `There is a key named '${name}' already. Choose another name; a revoked key keeps its own.`,
      );
    }
    const row: Row = {
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
    };
    database?.query<void, [Bound<Row>]>(insert).run({ ...row });
    return { key: toKey(row), text: `pk_${id}_${secret}` };
  }

  /** By its id or its name; undefined where there is no such key. One that was revoked stays so. */
  revoke(idOrName: string): ApiKey | undefined {
    const database = this.#open();
    const row = database
      ?.query<Row, [string, string]>("select * from keys where id = ? or name = ?")
      .get(idOrName, idOrName);
    if (row == null) return undefined;
    const revokedAt = row.revoked_at ?? Date.now();
    database
      ?.query<void, [number, string]>("update keys set revoked_at = ? where id = ?")
      .run(revokedAt, row.id);
    return toKey({ ...row, revoked_at: revokedAt });
  }

  [Symbol.dispose](): void {
    this.#database?.close();
    this.#database = undefined;
  }

  #open({ create = false } = {}): Database | undefined {
    if (this.#database !== undefined) return this.#database;
    if (!create && !existsSync(this.#path)) return undefined;
    this.#database = openKeys(this.#path);
    return this.#database;
  }
}

function openKeys(path: string): Database {
  let database: Database | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true });
    database = new Database(path, { create: true, strict: true });
    database.run("pragma busy_timeout = 10000");
    database.run("pragma journal_mode = wal");
    database.run("pragma synchronous = full");
    database.run(table);
    addLaterColumns(database);
    for (const suffix of ["", "-wal", "-shm"]) {
      const file = statSync(`${path}${suffix}`, { throwIfNoEntry: false });
      if (file !== undefined && (file.mode & 0o777) !== ownerOnly) {
        chmodSync(`${path}${suffix}`, ownerOnly);
      }
    }
    return database;
  } catch (cause) {
    database?.close();
    const unchangeable = openUnchangeable(path, cause);
    if (unchangeable !== undefined) return unchangeable;
    throw new NodeError(
      "unavailable",
      `The keys in ${path} cannot be opened: ${reasonOf(cause)}. Give this user the right to read and write it and its folder.`,
      { cause },
    );
  }
}

function addLaterColumns(database: Database): void {
  const missing = () => {
    const held = database
      .query<{ name: string }, []>("select name from pragma_table_info('keys')")
      .all()
      .map(({ name }) => name);
    return laterColumns.filter((column) => !held.includes(column));
  };
  if (missing().length === 0) return;
  // Two processes may open an old file at the same time: what is missing is asked again inside.
  const add = database.transaction(() => {
    for (const column of missing()) database.run(`alter table keys add column ${column} integer`);
  });
  add.immediate();
}

const digestOf = (salt: Uint8Array, secret: string): Buffer =>
  createHash("sha256").update(salt).update(secret).digest();

/** What a text is compared with that is no key's. */
const nobody = { salt: randomBytes(16), digest: randomBytes(32) };

function toKey(row: Row): ApiKey {
  const held = row.scopes.split(" ");
  return {
    id: row.id,
    name: row.name,
    scopes: scopes.filter((scope) => held.includes(scope)),
    limits: {
      ...(row.requests_per_minute === null ? {} : { requestsPerMinute: row.requests_per_minute }),
      ...(row.tokens_per_minute === null ? {} : { tokensPerMinute: row.tokens_per_minute }),
      ...(row.concurrency === null ? {} : { concurrency: row.concurrency }),
    },
    createdAt: new Date(row.created_at),
    ...(row.expires_at === null ? {} : { expiresAt: new Date(row.expires_at) }),
    ...(row.revoked_at === null ? {} : { revokedAt: new Date(row.revoked_at) }),
  };
}
