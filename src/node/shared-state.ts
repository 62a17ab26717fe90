/** What this node shares with others: keys and limits in Redis, and what it says while that is away. */
import type { Config } from "../config/schema.ts";
import type { RateLimiter } from "../core/limits/rate-limiter.ts";
import type { Log } from "../core/log.ts";
import type { SharedReport } from "../core/readiness.ts";
import { RedisConnection, type RedisOptions } from "../store/redis/connection.ts";
import { KeyMirror } from "../store/redis/key-mirror.ts";
import { RedisLimiter, type WhenAway } from "../store/redis/redis-limiter.ts";
import { toSharedServer } from "./node-settings.ts";
import { alwaysWantsKeys } from "./sharing-notices.ts";

/** Undefined where the configuration names no server: then this node is alone. */
export function sharedStateFor({
  config,
  own,
  log,
}: {
  config: Config;
  own: RateLimiter;
  log: Log;
}): SharedState | undefined {
  const server = toSharedServer(config);
  if (server === undefined) return undefined;
  const wantsKeys = alwaysWantsKeys(config);
  return new SharedState({ server, whenAway: config.shared.when_away, own, wantsKeys, log });
}

interface SharedStateOptions {
  server: RedisOptions;
  whenAway: WhenAway;
  /** What this node alone counts. */
  own: RateLimiter;
  /** Whether nobody may come in without a key, also while there is none. */
  wantsKeys: boolean;
  log: Log;
}

/** How long it has to be there before the log says that it is back. */
const steadyMs = 1000;

/** For the metrics. */
interface SharedNumbers {
  isUp: boolean;
  /** Times that Redis was lost. */
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
  /** Whether the log was told that it is away. */
  #isSaid = false;
  #sayingBack: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SharedStateOptions) {
    const { server, whenAway, own, wantsKeys, log } = options;
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

  /** Reads the keys, where Redis can be asked; where it cannot, it is asked again and again. */
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

  /** Why the node is not ready, or what it goes without. A stranger is not told why. */
  report({ isStranger }: { isStranger: boolean }): SharedReport {
    const { problem: reason } = this.#connection;
    const because = reason === undefined || isStranger ? "" : ` (${reason})`;
    if (!this.keys.isKnown) {
      return { problem: `The keys are in Redis, which could not be read yet${because}.` };
    }
    if (reason === undefined) return {};
    return this.#options.whenAway === "refuse"
      ? { problem: `Redis is away${because}, and requests are refused until it is back.` }
      : {
          note: `Redis is away${because}: this node holds callers to their limits alone, and knows the keys as they were before.`,
        };
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#sayingBack);
    this.#resources.dispose();
  }

  /** Once, however many requests are decided alone meanwhile. */
  #sayAway(reason: string): void {
    clearTimeout(this.#sayingBack);
    if (this.#isSaid) return;
    this.#isSaid = true;
    const { whenAway, log } = this.#options;
    const meanwhile =
      whenAway === "refuse"
        ? "requests are refused"
        : "limits are held by this node alone, and keys are those last known";
    log.warn("Redis is away", { address: this.#connection.address, reason, meanwhile });
  }

  /** Not at once: one that comes and goes does not fill the log. */
  #sayBack(): void {
    if (!this.#isSaid) return;
    this.#sayingBack = setTimeout(() => {
      this.#isSaid = false;
      this.#options.log.info("Redis is back", { address: this.#connection.address });
    }, steadyMs).unref();
  }
}
