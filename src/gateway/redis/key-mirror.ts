/** A node's copy of the keys in a Redis server: it is asked for each request, and outlives what the server loses. */
import { NodeError } from "../../core/errors.ts";
import type { ApiKey, KeyRing } from "../../core/limits/api-key.ts";
import type { Log } from "../../core/log.ts";
import { type KeyRecord, matchKey, toKey } from "../../store/keys/key-record.ts";
import { type RedisConnection, unlessAway } from "./connection.ts";
import { type KeysState, RedisKeyStore } from "./key-store.ts";

interface KeyMirrorOptions {
  connection: RedisConnection;
  /** Whether a key is required even while none exists. */
  wantsKeys: boolean;
  log: Log;
}

/** A change is known to every node after this and two round trips, within the promised second. */
const checkMs = 250;

/** Copy in memory, at most a second old; puts keys back that Redis lost. */
export class KeyMirror implements KeyRing, Disposable {
  readonly #options: KeyMirrorOptions;
  readonly #store: RedisKeyStore;
  readonly #timer: ReturnType<typeof setInterval>;
  #records: Map<string, KeyRecord> | undefined;
  /** Keys in Redis at the last read, those included that this version cannot read. */
  #stored = 0;
  #revoked = 0;
  #version: string | null = null;
  #reading: Promise<void> = Promise.resolve();
  #isChecking = false;

  constructor(options: KeyMirrorOptions) {
    this.#options = options;
    const { connection } = options;
    this.#store = new RedisKeyStore(connection);
    connection.watch({ up: () => void this.read() });
    this.#timer = setInterval(() => void this.#check(), checkMs).unref();
  }

  get isKnown(): boolean {
    return this.#records !== undefined;
  }

  /** Number of keys, including revoked ones. */
  get size(): number {
    return this.#records?.size ?? 0;
  }

  /** True until the keys were read: there may be some, so a key is required. */
  hasKeys(): boolean {
    const { wantsKeys } = this.#options;
    return wantsKeys || !this.isKnown || this.size > 0 || this.#stored > 0;
  }

  /** Whether a key with this id is known, revoked or not. */
  has(id: string): boolean {
    return this.#records?.has(id) === true;
  }

  find(text: string): ApiKey | undefined {
    const records = this.#records;
    if (records === undefined) throw notKnownYet();
    return matchKey(text, (id) => records.get(id));
  }

  byId(id: string): ApiKey | undefined {
    const record = this.#records?.get(id);
    return record === undefined ? undefined : toKey(record);
  }

  /** Updates the copy from the server, if it answers; otherwise when it is back. */
  read(): Promise<void> {
    const next = (): Promise<void> => this.#readOnce();
    // After a read that failed, too.
    this.#reading = this.#reading.then(next, next).catch(unlessAway);
    return this.#reading;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #readOnce(): Promise<void> {
    // Read before the keys: the next check then finds a change that is made during the read.
    const { version, keys } = await this.#store.state();
    const records = await this.#store.read();
    const lost = [...(this.#records?.values() ?? [])].filter((record) => {
      const found = records.get(record.id);
      return found === undefined || (record.revoked_at !== null && found.revoked_at === null);
    });
    for (const record of lost) records.set(record.id, record);
    this.#records = records;
    this.#stored = keys;
    this.#revoked = [...records.values()].filter(({ revoked_at: at }) => at !== null).length;
    this.#version = version;
    if (lost.length === 0) return;
    await this.#store.add(lost, { restored: true });
    const fields = { keys: lost.length };
    this.#options.log.warn("Redis had lost keys; this node put them back", fields);
  }

  async #check(): Promise<void> {
    if (this.#isChecking || !this.#options.connection.isUp) return;
    this.#isChecking = true;
    try {
      if (this.#isBehind(await this.#store.state())) await this.read();
    } catch (error) {
      unlessAway(error);
    } finally {
      this.#isChecking = false;
    }
  }

  #isBehind({ version, keys, revoked }: KeysState): boolean {
    const known = this.#records?.size ?? 0;
    return version !== this.#version || keys < known || revoked < this.#revoked;
  }
}

const notKnownYet = (): NodeError =>
  new NodeError(
    "unavailable",
    "The keys are in Redis, which could not be read since this node started. Try again in 2 s.",
    { retryAfterMs: 2000 },
  );
