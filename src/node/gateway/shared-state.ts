/** State shared with other nodes: keys and limits in Redis, and reports while Redis is unavailable. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { alwaysWantsKeys } from "../../config/consistency.ts";
import type { Config } from "../../config/schema.ts";
import type { RateLimiter } from "../../core/limits/rate-limiter.ts";
import type { Log } from "../../core/log.ts";
import type { SharedReport } from "../../core/readiness.ts";
import { RedisConnection, type RedisOptions } from "../../gateway/redis/connection.ts";
import { KeyMirror } from "../../gateway/redis/key-mirror.ts";
import { RedisLimiter } from "../../gateway/redis/limiter.ts";
import { keysFile, SqliteKeys } from "../../store/keys/sqlite-keys.ts";
import { toCollection } from "../node-settings.ts";

interface SharedStateOptions {
  server: RedisOptions;
  config: Config;
  /** This node's own counts. */
  own: RateLimiter;
  log: Log;
}

/** How long Redis has to be up before the log reports that it is back. */
const steadyMs = 1000;

/** For the metrics. */
interface SharedNumbers {
  isUp: boolean;
  /** How often the connection was lost. */
  losses: number;
  /** Requests that this node decided alone. */
  decidedAlone: number;
}

export class SharedState implements Disposable {
  readonly keys: KeyMirror;
  readonly limiter: RedisLimiter;
  readonly #options: SharedStateOptions;
  readonly #connection: RedisConnection;
  readonly #resources = new DisposableStack();
  #losses = 0;
  #decidedAlone = 0;
  /** Whether the log reported that Redis is unavailable. */
  #isSaid = false;
  #sayingBack: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SharedStateOptions) {
    const { server, config, own, log } = options;
    const whenAway = config.shared.when_away;
    const wantsKeys = alwaysWantsKeys(config);
    this.#options = options;
    const connection = this.#resources.use(new RedisConnection(server));
    this.#connection = connection;
    connection.watch({
      up: () => this.#sayBack(),
      down: (reason) => {
        this.#losses++;
        this.#sayAway(reason);
      },
    });
    this.keys = this.#resources.use(new KeyMirror({ connection, wantsKeys, log }));
    const onAlone = (): void => {
      this.#decidedAlone++;
    };
    this.limiter = this.#resources.use(new RedisLimiter({ connection, own, whenAway, onAlone }));
  }

  /** Reads the keys if Redis answers; otherwise retries in the background. */
  async open(): Promise<void> {
    await this.#connection.open();
    const { problem } = this.#connection;
    if (problem === undefined) await this.keys.read();
    else this.#sayAway(problem);
  }

  get numbers(): SharedNumbers {
    return {
      isUp: this.#connection.isUp,
      losses: this.#losses,
      decidedAlone: this.#decidedAlone,
    };
  }

  /** Why the node is not ready, or what it does without; a caller without a key gets no reason. */
  report({ isStranger }: { isStranger: boolean }): SharedReport {
    const { problem: reason } = this.#connection;
    const because = reason === undefined || isStranger ? "" : ` (${reason})`;
    if (!this.keys.isKnown) {
      return { problem: `The keys are in Redis, which could not be read yet${because}.` };
    }
    if (reason === undefined) return {};
    return this.#refuses
      ? { problem: `Redis is away${because}, and requests are refused until it is back.` }
      : {
          note: `Redis is away${because}: this node holds callers to their limits alone, and knows the keys as they were before.`,
        };
  }

  /** What is not shared in spite of the configuration; call it after the keys were read. */
  notices(dataDir: string): SharingNotice[] {
    return sharingNotices(this.#options.config, dataDir, this.keys);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#sayingBack);
    this.#resources.dispose();
  }

  get #refuses(): boolean {
    return this.#options.config.shared.when_away === "refuse";
  }

  /** Logs once, however many requests this node decides alone meanwhile. */
  #sayAway(reason: string): void {
    clearTimeout(this.#sayingBack);
    if (this.#isSaid) return;
    this.#isSaid = true;
    const meanwhile = this.#refuses
      ? "requests are refused"
      : "limits are held by this node alone, and keys are those last known";
    this.#options.log.warn("Redis is away", {
      address: this.#connection.address,
      reason,
      meanwhile,
    });
  }

  /** Delayed, so that an unstable connection does not fill the log. */
  #sayBack(): void {
    if (!this.#isSaid) return;
    this.#sayingBack = setTimeout(() => {
      this.#isSaid = false;
      this.#options.log.info("Redis is back", { address: this.#connection.address });
    }, steadyMs).unref();
  }
}

/** Something that is not shared in spite of the configuration, and how to change that. */
export interface SharingNotice {
  message: string;
  remedy: string;
}

/** The shared keys. */
interface KnownKeys {
  /** Whether they could be read. */
  isKnown: boolean;
  size: number;
  has(id: string): boolean;
}

export function sharingNotices(
  config: Config,
  dataDir: string,
  shared: KnownKeys,
): SharingNotice[] {
  return [
    ...embeddedCollection(config),
    ...ownKeys(join(dataDir, keysFile), shared),
    ...noKeys(config, shared),
  ];
}

/** The first key may be created while the nodes run; until then, they admit nobody. */
function noKeys(config: Config, { isKnown, size }: KnownKeys): SharingNotice[] {
  const hasOwn = config.auth.api_keys.length > 0;
  if (!isKnown || size > 0 || hasOwn || !alwaysWantsKeys(config)) return [];
  return [
    {
      message: "no key was given out yet, and nobody comes in without one",
      remedy: "'paddock keys create NAME' gives one out.",
    },
  ];
}

/** Nodes with a collection of their own would answer differently. */
export function embeddedCollection(config: Config): SharingNotice[] {
  const { url, name, embeddingModel } = toCollection(config);
  if (url !== "embedded" || embeddingModel === undefined) return [];
  return [
    {
      message: `the collection '${name}' is embedded: it is this node's alone, and other nodes find none of its passages`,
      remedy:
        "Set vectorstore.url to a Qdrant server for all nodes; 'paddock collections copy --to' brings the passages there.",
    },
  ];
}

function ownKeys(path: string, shared: KnownKeys): SharingNotice[] {
  if (!shared.isKnown || !existsSync(path)) return [];
  using keys = new SqliteKeys(path);
  const own = keys.records().filter(({ id }) => !shared.has(id)).length;
  if (own === 0) return [];
  return [
    {
      message: `${own === 1 ? "a key" : `${own} keys`} of ${keysFile} open nothing: with [shared] the keys in Redis count`,
      remedy: "'paddock keys share' has them count for all nodes.",
    },
  ];
}
