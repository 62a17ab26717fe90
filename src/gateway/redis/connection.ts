/**
 * Connection to a Redis server, behind a circuit breaker. A command that fails or times out opens
 * the breaker: every command then fails at once, and the connection is retried in the background.
 * Bun's client has its own reconnect turned off: it does not report why it failed.
 */
import { RedisClient } from "bun";
import { hasCode, NodeError, reasonOf } from "../../core/errors.ts";

export interface RedisOptions {
  /** `redis://` or `rediss://`, with credentials or without. */
  url: string;
  /** Replaces the one in `url`. */
  password?: string;
  prefix: string;
  timeoutMs: number;
}

interface RedisWatcher {
  /** The connection is usable, for the first time or again. */
  up?(): void;
  down?(reason: string): void;
}

/** Facts about the server that matter to code that stores keys in it. */
export interface RedisFacts {
  version: string;
  evictionPolicy: string;
  /** Whether it may evict entries without an expiry, such as API keys. */
  evictsKeys: boolean;
}

/** A read-only or full server, or one without scripts, accepts connections but fails requests. */
const probe = "return redis.call('SET', KEYS[1], '1', 'PX', 1000)";
const backoffMs = { first: 100, most: 2000 };
/** A connection that was up for this long starts again with the shortest pause. */
const stableMs = 10_000;
const leastConnectMs = 1000;

export class RedisConnection implements Disposable {
  readonly address: string;
  readonly #options: RedisOptions;
  readonly #watchers: RedisWatcher[] = [];
  /** Undefined while the connection is down. */
  #client: RedisClient | undefined;
  #reason = "it was not tried yet";
  #upSince = 0;
  #delayMs = backoffMs.first;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #isDisposed = false;

  constructor(options: RedisOptions) {
    this.#options = options;
    const { hostname, port } = new URL(options.url);
    this.address = `${hostname}:${port === "" ? "6379" : port}`;
  }

  get isUp(): boolean {
    return this.#client !== undefined;
  }

  /** Why it cannot be used; undefined if it can. */
  get problem(): string | undefined {
    return this.isUp ? undefined : this.#reason;
  }

  /** A key with the prefix. All share one cluster slot, since a script uses several of them. */
  name(...parts: readonly string[]): string {
    return [`{${this.#options.prefix}}`, ...parts].join(":");
  }

  watch(watcher: RedisWatcher): void {
    this.#watchers.push(watcher);
  }

  /** Connects, and retries in the background until it succeeds; returns after the first try. */
  async open(): Promise<void> {
    if (this.isUp || this.#isDisposed) return;
    const client = this.#newClient();
    try {
      await within(this.#connectMs, client.send("EVAL", [probe, "1", this.name("probe")]));
      await within(this.#options.timeoutMs, client.send("PING", []));
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
    for (const watcher of this.#watchers) watcher.up?.();
  }

  async call(command: string, ...args: readonly string[]): Promise<unknown> {
    const client = this.#client;
    if (client === undefined) throw this.#away();
    try {
      return await within(this.#options.timeoutMs, client.send(command, [...args]));
    } catch (error) {
      this.#lose(client, reasonFor(error));
      throw this.#away(error);
    }
  }

  async facts(): Promise<RedisFacts> {
    const text = String(await this.call("INFO"));
    const fact = (name: string): string =>
      new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(text)?.[1] ?? "";
    const evictionPolicy = fact("maxmemory_policy");
    return {
      version: fact("redis_version"),
      evictionPolicy,
      evictsKeys: evictionPolicy.startsWith("allkeys-"),
    };
  }

  /** Runs a Lua script, which is atomic and returns a list. */
  async run(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown[]> {
    const reply = await this.call("EVAL", script, String(keys.length), ...keys, ...args);
    if (Array.isArray(reply)) return reply;
    throw this.distrusted();
  }

  /** Closes the connection: it answered another command, so none of its answers can be trusted. */
  distrusted(): NodeError {
    if (this.#client !== undefined) {
      this.#lose(this.#client, "it answered something else than was asked");
    }
    return this.#away();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    clearTimeout(this.#retry);
    const client = this.#client;
    this.#client = undefined;
    client?.close();
  }

  /** A client that is not connected yet: its first command connects, or reports why it cannot. */
  #newClient(): RedisClient {
    const { url, password } = this.#options;
    const address = new URL(url);
    if (password !== undefined) address.password = encodeURIComponent(password);
    return new RedisClient(address.href, {
      autoReconnect: false,
      connectionTimeout: this.#connectMs,
    });
  }

  get #connectMs(): number {
    return Math.max(leastConnectMs, this.#options.timeoutMs * 4);
  }

  #lose(client: RedisClient, reason: string): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#reason = reason;
    // Pending commands fail now, instead of each at its own timeout.
    client.close();
    if (performance.now() - this.#upSince > stableMs) this.#delayMs = backoffMs.first;
    for (const watcher of this.#watchers) watcher.down?.(reason);
    this.#tryLater();
  }

  #tryLater(): void {
    if (this.#isDisposed) return;
    // Nodes that lost the server together do not all reconnect at once.
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

/** Ignores that the server is away, which the connection reports and its watchers hear of. */
export function unlessAway(error: unknown): undefined {
  if (!(error instanceof NodeError)) throw error;
}

/** One more turn of the event loop: an answer may have arrived that was not read yet. */
const lateTurnMs = 5;

async function within<Value>(ms: number, outcome: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>();
  let timer = setTimeout(() => {
    timer = setTimeout(() => late.reject(new NoAnswer(ms)), lateTurnMs);
  }, ms);
  try {
    return await Promise.race([outcome, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

class NoAnswer extends Error {
  constructor(ms: number) {
    super(`it did not answer within ${ms} ms`);
  }
}

const meanings: readonly (readonly [word: RegExp, meaning: string])[] = [
  [
    /^(WRONGPASS|NOAUTH)\b|AUTH.* without any password/,
    "it refuses the credentials; check PADDOCK_SHARED_REDIS and PADDOCK_SHARED_PASSWORD",
  ],
  [/^READONLY\b/, "it is a read-only replica; name the primary"],
  [/^OOM\b/, "it is out of memory; raise its maxmemory"],
  [/^LOADING\b/, "it is loading its data"],
  [/^MASTERDOWN\b/, "it is a replica whose primary is away"],
  [/^MISCONF\b/, "it cannot write its data to its disk, and so accepts no changes"],
  [/^(BUSY|TRYAGAIN|CLUSTERDOWN)\b/, "it is busy or its cluster is down"],
  [/^MOVED\b/, "it is one of a cluster; name a server that is not, or a proxy of the cluster"],
  [/unknown command .?HELLO/i, "it is older than Redis 6"],
];

const longestReason = 200;

/** Why the server cannot be used, in words. Its errors never contain credentials. */
function reasonFor(error: unknown): string {
  const text = reasonOf(error);
  const [, meaning] = meanings.find(([word]) => word.test(text)) ?? [];
  if (meaning !== undefined) return meaning;
  if (error instanceof NoAnswer) return text;
  if (hasCode(error, "ERR_REDIS_CONNECTION_CLOSED")) return "there is no connection to it";
  if (hasCode(error, "ERR_REDIS_CONNECTION_TIMEOUT")) {
    return "it accepts connections and does not speak; rediss:// is for a server with TLS, redis:// for one without";
  }
  if (hasCode(error, "ERR_REDIS_INVALID_RESPONSE_TYPE")) return "the server there is not Redis";
  return text.slice(0, longestReason);
}
