/** State shared with other nodes: keys and limits in Redis, and reports while Redis is unavailable. */
import { join } from "node:path";
import { alwaysWantsKeys } from "../../config/consistency.ts";
import type { Config } from "../../config/schema.ts";
import type { RateLimiter } from "../../core/limits/rate-limiter.ts";
import type { Log } from "../../core/log.ts";
import type { SharedReport } from "../../core/readiness.ts";
import { RedisConnection, type RedisOptions } from "../../gateway/redis/connection.ts";
import { KeyMirror } from "../../gateway/redis/key-mirror.ts";
import { RedisLimiter } from "../../gateway/redis/limiter.ts";
import type { KeyRecord } from "../../store/keys/key-record.ts";
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

export class SharedState implements Disposable {
  readonly keys: KeyMirror;
  readonly limiter: RedisLimiter;
  readonly #options: SharedStateOptions;
  readonly #connection: RedisConnection;
  readonly #resources = new DisposableStack();
  #losses = 0;
  #decidedAlone = 0;
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

  /** For the metrics: how often the connection was lost, and requests that this node decided alone. */
  get numbers() {
    const { isUp } = this.#connection;
    return { isUp, losses: this.#losses, decidedAlone: this.#decidedAlone };
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

export interface SharingNotice {
  message: string;
  remedy: string;
}

/** `shared`: the shared keys; `isKnown`: whether they could be read. */
export function sharingNotices(
  config: Config,
  dataDir: string,
  shared: Pick<KeyMirror, "isKnown" | "size" | "has">,
): SharingNotice[] {
  const notices = embeddedCollection(config);
  if (!shared.isKnown) return notices;
  const own = ownKeys(join(dataDir, keysFile)).filter(({ id }) => !shared.has(id)).length;
  if (own > 0) {
    notices.push({
      message: `${own === 1 ? "a key" : `${own} keys`} of ${keysFile} open nothing: with [shared] the keys in Redis count`,
      remedy: "'paddock keys share' has them count for all nodes.",
    });
  }
  // The first key may be created while the nodes run; until then, they admit nobody.
  if (shared.size === 0 && config.auth.api_keys.length === 0 && alwaysWantsKeys(config)) {
    notices.push({
      message: "no key was given out yet, and nobody comes in without one",
      remedy: "'paddock keys create NAME' gives one out.",
    });
  }
  return notices;
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

function ownKeys(path: string): KeyRecord[] {
  using keys = new SqliteKeys(path);
  return keys.records();
}
