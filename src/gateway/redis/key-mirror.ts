/**
 * In-memory copy of the shared API keys: requests are checked without a round trip, and a change on
 * any node arrives within a second. Keys that the server lost are restored from it.
 */
import { NodeError } from "../../core/errors.ts";
import type { ApiKey, KeyRing } from "../../core/limits/api-key.ts";
import type { Log } from "../../core/log.ts";
import { type KeyRecord, matchKey, toKey } from "../../store/keys/key-record.ts";
import type { RedisConnection } from "./connection.ts";
import { type KeysState, RedisKeyStore } from "./key-store.ts";

export interface KeyMirrorOptions {
  connection: RedisConnection;
  /** Whether a key is required even while none exists. */
  wantsKeys: boolean;
  log: Log;
}

/** A change is known to every node after this and two round trips, within the promised second. */
const checkMs = 250;

export class KeyMirror implements KeyRing, Disposable {
  readonly #options: KeyMirrorOptions;
  readonly #store: RedisKeyStore;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Undefined until the first read. */
  #records: Map<string, KeyRecord> | undefined;
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

  /** Whether the keys were read since the node started. */
  get isKnown(): boolean {
    return this.#records !== undefined;
  }

  /** Number of keys, including revoked ones. */
  get size(): number {
    return this.#records?.size ?? 0;
  }

  /** True until the keys were read: there may be some, so a key is required. */
  hasKeys(): boolean {
    return this.#options.wantsKeys || this.#records === undefined || this.#records.size > 0;
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
    this.#reading = this.#reading.then(() => this.#readOnce()).catch(unlessAway);
    return this.#reading;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #readOnce(): Promise<void> {
    // Read before the keys: the next check then finds a change that is made during the read.
    const { version } = await this.#store.state();
    const records = await this.#store.read();
    const lost = [...(this.#records?.values() ?? [])].filter((record) => {
      const found = records.get(record.id);
      return found === undefined || (record.revoked_at !== null && found.revoked_at === null);
    });
    for (const record of lost) records.set(record.id, record);
    this.#records = records;
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

/** The connection reports why the server does not answer. */
function unlessAway(error: unknown): void {
  if (!(error instanceof NodeError)) throw error;
}

const notKnownYet = (): NodeError =>
  new NodeError(
    "unavailable",
    "The keys are in Redis, which could not be read since this node started. Try again in 2 s.",
    { retryAfterMs: 2000 },
  );
