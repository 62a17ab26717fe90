/**
 * In-memory copy of the shared API keys: requests are checked without a round trip, and a change on
 * any node arrives within a second. Keys that the server lost are restored from it.
 */
import type { RedisClient } from "bun";
import { NodeError } from "../../core/errors.ts";
import type { ApiKey, KeyRing } from "../../core/limits/api-key.ts";
import type { Log } from "../../core/log.ts";
import { type KeyRecord, matchKey, toKey } from "../../store/keys/key-record.ts";
import { type RedisConnection, within } from "./connection.ts";
import { type KeysState, RedisKeyStore } from "./key-store.ts";

export interface KeyMirrorOptions {
  connection: RedisConnection;
  /** Whether a key is required even while none exists. */
  wantsKeys: boolean;
  log: Log;
}

/** How often to check for changes without a message: under half of the promised second. */
const checkMs = 400;

export class KeyMirror implements KeyRing, Disposable {
  readonly #options: KeyMirrorOptions;
  readonly #store: RedisKeyStore;
  readonly #changes: KeyChanges;
  readonly #checking: ReturnType<typeof setInterval>;
  /** Undefined until the first read. */
  #records: Map<string, KeyRecord> | undefined;
  #revoked = 0;
  #version: string | null = null;
  #reading: Promise<void> | undefined;
  #isStale = false;
  #isChecked = false;

  constructor(options: KeyMirrorOptions) {
    this.#options = options;
    const { connection } = options;
    this.#store = new RedisKeyStore(connection);
    this.#changes = new KeyChanges(connection, this.#store.channel, () => void this.read());
    connection.watch({ up: () => void this.read(), down: () => {} });
    this.#checking = setInterval(() => void this.#check(), checkMs).unref();
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

  /** Updates the copy from the server, if it answers. Never rejects. */
  read(): Promise<void> {
    this.#isStale = true;
    this.#reading ??= this.#readWhileStale().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#checking);
    this.#changes[Symbol.dispose]();
  }

  async #readWhileStale(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      // If the server is away, the keys are read when it is back.
      if (!(await isAnswered(this.#readOnce()))) return;
    }
    void this.#changes.listen();
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

  /** Checks for changes that no message reported. */
  async #check(): Promise<void> {
    if (this.#isChecked || !this.#options.connection.isUp) return;
    this.#isChecked = true;
    await isAnswered(
      this.#store.state().then(async (state) => {
        if (this.#isBehind(state)) await this.read();
        else void this.#changes.listen();
      }),
    );
    this.#isChecked = false;
  }

  #isBehind({ version, keys, revoked }: KeysState): boolean {
    const known = this.#records?.size ?? 0;
    return version !== this.#version || keys < known || revoked < this.#revoked;
  }
}

/** Whether it succeeded; the connection reports why if not. */
async function isAnswered(asking: Promise<void>): Promise<boolean> {
  try {
    await asking;
    return true;
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    return false;
  }
}

const notKnownYet = (): NodeError =>
  new NodeError(
    "unavailable",
    "The keys are in Redis, which could not be read since this node started. Try again in 2 s.",
    { retryAfterMs: 2000 },
  );

const subscribeMs = 2000;

/** Subscribes to changes of the shared keys. `#check` finds those whose message was missed. */
export class KeyChanges implements Disposable {
  readonly #connection: RedisConnection;
  readonly #channel: string;
  readonly #onChange: () => void;
  /** A separate connection: a subscribed one accepts no other commands. */
  #client: RedisClient | undefined;
  #isDisposed = false;

  constructor(connection: RedisConnection, channel: string, onChange: () => void) {
    this.#connection = connection;
    this.#channel = channel;
    this.#onChange = onChange;
    connection.watch({ up: () => {}, down: () => this.#drop() });
  }

  /** Subscribes if it is not subscribed. After a failure, the next call retries. */
  async listen(): Promise<void> {
    if (this.#client !== undefined || this.#isDisposed || !this.#connection.isUp) return;
    const client = this.#connection.newClient();
    this.#client = client;
    client.onclose = () => this.#drop(client);
    try {
      await within(
        subscribeMs,
        client.subscribe(this.#channel, () => this.#onChange()),
      );
    } catch {
      this.#drop(client);
    }
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#drop();
  }

  #drop(client = this.#client): void {
    if (client === undefined || this.#client !== client) return;
    this.#client = undefined;
    client.close();
  }
}
