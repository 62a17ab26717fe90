/**
 * API keys in a Redis server, shared by several nodes. Records and revocations are written once and
 * never change, so two nodes cannot disagree permanently.
 */
import { type Static, Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { parseJson } from "../../client/json-fields.ts";
import { type ApiKey, type KeyStore, type NewKey, nameIsTaken } from "../../core/limits/api-key.ts";
import { nextTurn } from "../../core/turns.ts";
import { type KeyRecord, newKeyRecord, toKey } from "../../store/keys/key-record.ts";
import type { RedisConnection } from "./connection.ts";

export interface KeysState {
  /** Differs after every change; null if nothing was ever written, or all of it was lost. */
  version: string | null;
  keys: number;
  revoked: number;
}

interface SharedKeys {
  added: number;
  /** Names that another key already has. */
  taken: string[];
}

/** Keys per command, so that the event loop runs in between. */
const slice = 200;

export class RedisKeyStore implements KeyStore {
  readonly #connection: RedisConnection;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  async list(): Promise<ApiKey[]> {
    const records = [...(await this.read()).values()];
    return records.sort((one, other) => one.created_at - other.created_at).map(toKey);
  }

  async create(wanted: NewKey): Promise<{ key: ApiKey; text: string }> {
    const { record, text } = newKeyRecord(wanted);
    const { taken } = await this.add([record]);
    if (taken.length > 0) throw nameIsTaken(record.name);
    return { key: toKey(record), text };
  }

  async revoke(idOrName: string): Promise<ApiKey | undefined> {
    const reply = await this.#run(revocation, [idOrName, String(Date.now())]);
    const [id, stored, revokedAt] = reply.map(String);
    if (id === undefined || stored === undefined) return undefined;
    const record = fromStored(stored, Number(revokedAt));
    return record === undefined ? undefined : toKey(record);
  }

  /** Skips keys whose name is taken. `restored`: Redis had lost them, so the name is theirs. */
  async add(records: readonly KeyRecord[], { restored = false } = {}): Promise<SharedKeys> {
    const all: SharedKeys = { added: 0, taken: [] };
    for (let from = 0; from < records.length; from += slice) {
      const some = records.slice(from, from + slice).flatMap((record) => {
        const { id, name, revoked_at: revokedAt } = record;
        return [id, name, toStored(record), revokedAt === null ? "" : String(revokedAt)];
      });
      const [added, taken] = await this.#run(addition, [restored ? "restored" : "new", ...some]);
      all.added += Number(added);
      if (Array.isArray(taken)) all.taken.push(...taken.map(String));
    }
    return all;
  }

  async state(): Promise<KeysState> {
    const connection = this.#connection;
    const [version, keys, revoked] = await Promise.all([
      connection.call("GET", connection.name("keys-version")),
      connection.call("HLEN", connection.name("keys")),
      connection.call("HLEN", connection.name("revoked-keys")),
    ]);
    const isVersion = version === null || typeof version === "string";
    if (!isVersion || !isCount(keys) || !isCount(revoked)) throw connection.distrusted();
    return { version, keys, revoked };
  }

  /** All keys, by id. Entries that are not valid keys are skipped. */
  async read(): Promise<Map<string, KeyRecord>> {
    const records = new Map<string, KeyRecord>();
    // Revocations last: otherwise one that is written during the read could be missed.
    const stored = await this.#scan("keys");
    const revoked = await this.#scan("revoked-keys");
    let read = 0;
    for (const [id, text] of stored) {
      if (++read % slice === 0) await nextTurn();
      const at = revoked.get(id);
      const record = fromStored(text, at === undefined ? null : Number(at) || 0);
      if (record?.id === id) records.set(id, record);
    }
    return records;
  }

  async #run(script: string, args: readonly string[]): Promise<unknown[]> {
    const names = ["keys", "key-names", "revoked-keys", "keys-version"];
    const keys = names.map((name) => this.#connection.name(name));
    return await this.#connection.run(script, keys, args);
  }

  async #scan(name: string): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    let cursor = "0";
    let read = 0;
    let characters = 0;
    do {
      const key = this.#connection.name(name);
      const reply = await this.#connection.call("HSCAN", key, cursor, "COUNT", String(slice));
      if (!isPage(reply) || read > mostKeys) throw this.#connection.distrusted();
      const [next, fields] = reply;
      characters += fields.reduce((sum, { length }) => sum + length, 0);
      if (characters > mostCharacters) throw this.#connection.distrusted();
      read += Math.max(slice, fields.length / 2);
      for (let at = 0; at < fields.length; at += 2) {
        found.set(String(fields[at]), String(fields[at + 1]));
      }
      cursor = next;
    } while (cursor !== "0");
    return found;
  }
}

/** More than any nodes share. */
const mostKeys = 1_000_000;
/** Of their records, which are held until all are read. */
const mostCharacters = 256 << 20;

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;

/** A part of a hash: where the next begins, and fields with their values. */
const isPage = (reply: unknown): reply is [next: string, fields: string[]] =>
  Array.isArray(reply) &&
  typeof reply[0] === "string" &&
  Array.isArray(reply[1]) &&
  reply[1].length % 2 === 0 &&
  reply[1].every((each) => typeof each === "string");

const addition = `
local keys, names, revoked, version = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local restored = ARGV[1] == 'restored'
local added, changed, taken = 0, false, {}
for at = 2, #ARGV, 4 do
  local id, name, stored, revokedAt = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local holder = redis.call('HGET', names, name)
  if holder and holder ~= id and not restored then
    taken[#taken + 1] = name
  else
    redis.call('HSETNX', names, name, id)
    if redis.call('HSETNX', keys, id, stored) == 1 then
      added = added + 1
      changed = true
    end
    if revokedAt ~= '' and redis.call('HSETNX', revoked, id, revokedAt) == 1 then changed = true end
  end
end
if changed then redis.call('INCR', version) end
return { added, taken }
`;

const revocation = `
local keys, names, revoked, version = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local wanted, at = ARGV[1], ARGV[2]
local id = wanted
if redis.call('HEXISTS', keys, id) == 0 then id = redis.call('HGET', names, wanted) end
if not id then return {} end
if redis.call('HSETNX', revoked, id, at) == 1 then redis.call('INCR', version) end
return { id, redis.call('HGET', keys, id), redis.call('HGET', revoked, id) }
`;

const Count = T.Union([T.Integer({ minimum: 0 }), T.Null()]);
/** The latest that a date can be: one beyond it would end the list of all keys. */
const Time = T.Integer({ minimum: 0, maximum: 8.64e15 });
const base64 = (bytes: number) =>
  T.String({ pattern: `^[A-Za-z0-9+/]{${Math.ceil((bytes * 4) / 3)}}={0,2}$` });

/** A key record as JSON. The revocation is stored separately, since a record never changes. */
const StoredKey = T.Object({
  id: T.String({ pattern: "^[0-9a-f]{12}$" }),
  /** 64 letters, each of which may count as two. */
  name: T.String({ minLength: 1, maxLength: 128 }),
  scopes: T.String({ maxLength: 200 }),
  salt: base64(16),
  digest: base64(32),
  created_at: Time,
  expires_at: T.Union([Time, T.Null()]),
  requests_per_minute: Count,
  tokens_per_minute: Count,
  concurrency: Count,
  document_bytes: Count,
  document_passages: Count,
  /** A thousand, the most that a node has by default, with names of collections as long as they can be. */
  vector_stores: T.Union([T.String({ maxLength: 100_000 }), T.Null()]),
});

type StoredKey = Static<typeof StoredKey>;

function toStored({ revoked_at: _, salt, digest, ...rest }: KeyRecord): string {
  return JSON.stringify({
    ...rest,
    salt: Buffer.from(salt).toString("base64"),
    digest: Buffer.from(digest).toString("base64"),
  } satisfies StoredKey);
}

function fromStored(text: string, revokedAt: number | null): KeyRecord | undefined {
  const stored = parseJson(text);
  if (!Value.Check(StoredKey, stored)) return undefined;
  return {
    ...stored,
    salt: Buffer.from(stored.salt, "base64"),
    digest: Buffer.from(stored.digest, "base64"),
    revoked_at: revokedAt,
  };
}
