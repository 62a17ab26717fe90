/**
 * A Redis server that may be away, behind a circuit breaker. A command that fails, or takes too
 * long, opens it: from then on every command fails at once, and the server is asked in the
 * background until it can be used again.
 */
import type { RedisClient } from "bun";
import { NodeError } from "../../core/errors.ts";
import { addressOf, newClient, type RedisServer, within } from "./connect.ts";
import { isUnknownScript, reasonFor } from "./reasons.ts";

export interface RedisOptions extends RedisServer {
  /** What the names of all keys begin with. */
  prefix: string;
  /** How long a command may take. */
  timeoutMs: number;
}

export interface RedisWatcher {
  /** It can be used, for the first time or again. */
  up(): void;
  /** It cannot be used any more. */
  down(reason: string): void;
}

const probe = "return redis.call('SET', KEYS[1], '1', 'PX', 1000)";
const backoffMs = { first: 100, most: 2000 };
/** A connection that held for so long was not a try in vain. */
const stableMs = 10_000;
const leastConnectMs = 1000;

export class RedisConnection implements Disposable {
  readonly address: string;
  readonly #options: RedisOptions;
  readonly #watchers: RedisWatcher[] = [];
  /** Of a connection that is up. */
  #client: RedisClient | undefined;
  #reason = "it was not asked yet";
  #upSince = 0;
  #delayMs = backoffMs.first;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #isDisposed = false;

  constructor(options: RedisOptions) {
    this.#options = options;
    this.address = addressOf(options);
  }

  get isUp(): boolean {
    return this.#client !== undefined;
  }

  /** Why it cannot be used; undefined where it can. */
  get problem(): string | undefined {
    return this.isUp ? undefined : this.#reason;
  }

  /** A key of this node's kind: all lie in one slot of a cluster, since one script takes several. */
  name(...parts: readonly string[]): string {
    return [`{${this.#options.prefix}}`, ...parts].join(":");
  }

  watch(watcher: RedisWatcher): void {
    this.#watchers.push(watcher);
  }

  /** Tries to connect, once now and then until it can; comes back after the first try. */
  async open(): Promise<void> {
    if (this.isUp || this.#isDisposed) return;
    const { timeoutMs } = this.#options;
    const connectMs = Math.max(leastConnectMs, timeoutMs * 4);
    const client = newClient(this.#options, connectMs);
    try {
      // One that is read-only, full or runs no scripts would take the connection, and fail with a request.
      await within(connectMs, client.send("EVAL", [probe, "1", this.name("probe")]));
      await within(timeoutMs, client.send("PING", []));
    } catch (error) {
      client.close();
      this.#reason = reasonFor(error);
      this.#tryLater();
      return;
    }
    if (this.#isDisposed) {
      client.close();
      return;
    }
    client.onclose = () => this.#lose(client, "it closed the connection");
    this.#client = client;
    this.#upSince = performance.now();
    for (const watcher of this.#watchers) watcher.up();
  }

  /** Another client of the same server, for what needs a connection of its own. */
  anotherClient(): RedisClient {
    return newClient(this.#options, Math.max(leastConnectMs, this.#options.timeoutMs * 4));
  }

  async call(command: string, ...args: readonly string[]): Promise<unknown> {
    const client = this.#client;
    if (client === undefined) throw this.#away();
    try {
      return await within(this.#options.timeoutMs, client.send(command, [...args]));
    } catch (error) {
      if (isUnknownScript(error)) throw error;
      this.#lose(client, reasonFor(error));
      throw this.#away(error);
    }
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    clearTimeout(this.#retry);
    const client = this.#client;
    this.#client = undefined;
    client?.close();
  }

  #lose(client: RedisClient, reason: string): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#reason = reason;
    // What waits for an answer fails now, and not each in its own time.
    client.close();
    if (performance.now() - this.#upSince > stableMs) this.#delayMs = backoffMs.first;
    for (const watcher of this.#watchers) watcher.down(reason);
    this.#tryLater();
  }

  #tryLater(): void {
    if (this.#isDisposed) return;
    // Many nodes that lost it together do not come back together.
    const jitter = 0.75 + Math.random() / 2;
    this.#retry = setTimeout(() => void this.open(), this.#delayMs * jitter).unref();
    this.#delayMs = Math.min(this.#delayMs * 2, backoffMs.most);
  }

  #away(cause?: unknown): NodeError {
    return new NodeError(
      "unavailable",
      `Redis at ${this.address} cannot be used: ${this.#reason}.`,
      { cause },
    );
  }
}
