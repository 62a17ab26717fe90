/**
 * API keys in a Redis server, for all nodes that share it. Whatever is written there stays: a record
 * never changes, and neither does a revocation, so that two nodes can never disagree for good.
 */
import { type ApiKey, type KeyStore, type NewKey, nameIsTaken } from "../../core/limits/api-key.ts";
import { type KeyRecord, newKeyRecord, toKey } from "../keys/key-record.ts";
import type { RedisConnection } from "./connection.ts";
import { addKeys, revokeKey } from "./key-scripts.ts";
import { fromStored, toStored } from "./stored-key.ts";

/** How much the server holds, to be compared with what is known of it. */
export interface KeysState {
  /** Another one after every change; null where nothing was ever written, or all is lost. */
  version: string | null;
  keys: number;
  revoked: number;
}

export interface SharedKeys {
  /** How many came to be there by this. */
  added: number;
  /** Names that another key has there. */
  taken: string[];
}

/** Keys that one command of the server reads or writes: the loop turns between them. */
const slice = 200;

export class RedisKeyStore implements KeyStore {
  readonly #connection: RedisConnection;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  /** Where changes are announced, with the new version. */
  get channel(): string {
    return this.#connection.name("keys-changed");
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
    const [id, stored, revokedAt] = await revokeKey(this.#connection, idOrName, Date.now());
    if (id === undefined || stored === undefined) return undefined;
    const record = fromStored(stored, Number(revokedAt));
    return record === undefined ? undefined : toKey(record);
  }

  /**
   * Has keys that were given out elsewhere, or were lost here, count for all nodes. One whose name
   * another key has is left out, unless it is `restored`: then it was there before.
   */
  async add(records: readonly KeyRecord[], { restored = false } = {}): Promise<SharedKeys> {
    const all: SharedKeys = { added: 0, taken: [] };
    for (let from = 0; from < records.length; from += slice) {
      const some = records.slice(from, from + slice);
      const { added, taken } = await addKeys(
        this.#connection,
        some.map((record) => ({
          id: record.id,
          name: record.name,
          stored: toStored(record),
          revokedAt: record.revoked_at,
        })),
        { restored },
      );
      all.added += added;
      all.taken.push(...taken);
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
    return {
      version: typeof version === "string" ? version : null,
      keys: Number(keys),
      revoked: Number(revoked),
    };
  }

  /** All keys, by their ids. What is no key is left out. */
  async read(): Promise<Map<string, KeyRecord>> {
    const records = new Map<string, KeyRecord>();
    // Revocations last: one that is written meanwhile is not missed for a key that was read before.
    const stored = await this.#scan("keys");
    const revoked = await this.#scan("revoked-keys");
    for (const [id, text] of stored) {
      const at = revoked.get(id);
      const record = fromStored(text, at === undefined ? null : Number(at));
      if (record?.id === id) records.set(id, record);
    }
    return records;
  }

  async #scan(name: string): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    let cursor = "0";
    do {
      const reply = await this.#connection.call(
        "HSCAN",
        this.#connection.name(name),
        cursor,
        "COUNT",
        String(slice),
      );
      const [next, fields] = Array.isArray(reply) ? reply : ["0", []];
      for (let at = 0; at < fields.length; at += 2) {
        found.set(String(fields[at]), String(fields[at + 1]));
      }
      cursor = String(next);
    } while (cursor !== "0");
    return found;
  }
}
