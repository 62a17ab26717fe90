/** Limits that several nodes hold their callers to together; while the server is away, each by itself. */
import { NodeError } from "../../core/errors.ts";
import { LocalLimiter } from "../../core/limits/local-limiter.ts";
import type { LimitedCaller, RateLimiter } from "../../core/limits/rate-limiter.ts";
import { refusalOf } from "../../core/limits/refusals.ts";
import type { Decision, Limiter } from "../../core/ports/limiter.ts";
import type { RedisConnection } from "./connection.ts";
import { HeldPlaces } from "./held-places.ts";
import { count } from "./limit-script.ts";
import { SharedGrant } from "./shared-grant.ts";

/** What is done with a request while the server is away. */
export type WhenAway = "serve" | "refuse";

export interface RedisLimiterOptions {
  connection: RedisConnection;
  /** What this node alone counts, also while the server is there: it goes on from that. */
  own: RateLimiter;
  whenAway: WhenAway;
  /** Told of every request that this node decides alone, since the server is away. */
  onAlone: () => void;
}

/** About as long as the server is left alone between two tries. */
const retryAfterMs = 2000;

export class RedisLimiter implements Limiter, Disposable {
  readonly #options: RedisLimiterOptions;
  readonly #places: HeldPlaces;
  readonly #local: LocalLimiter;

  constructor(options: RedisLimiterOptions) {
    this.#options = options;
    this.#places = new HeldPlaces(options.connection);
    this.#local = new LocalLimiter(options.own);
  }

  acquire(caller: LimitedCaller): Decision | Promise<Decision> {
    if (!this.#options.connection.isUp) return this.#decideAlone(caller);
    return isBounded(caller) ? this.#ask(caller) : this.#local.acquire(caller);
  }

  [Symbol.dispose](): void {
    this.#places[Symbol.dispose]();
  }

  async #ask(caller: LimitedCaller): Promise<Decision> {
    const { connection, own } = this.#options;
    const places = this.#placesFor(caller);
    try {
      const counted = await count(connection, caller, { check: "all", requests: 1, places });
      if (counted.refusedBy !== undefined) {
        const refused = refusalOf(caller, counted.standing) ?? full();
        return { refused, status: counted.status };
      }
      this.#places.hold(caller, places);
      const lease = own.record(caller);
      return new SharedGrant({ ...this.#parts(caller), lease, places, status: counted.status });
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      return this.#decideAlone(caller);
    }
  }

  #decideAlone(caller: LimitedCaller): Decision {
    const { own, whenAway, onAlone } = this.#options;
    onAlone();
    if (whenAway === "refuse") return { refused: away(), status: {} };
    if (!isBounded(caller)) return this.#local.acquire(caller);
    try {
      const lease = own.acquire(caller);
      const places = this.#placesFor(caller);
      // Counted by all as soon as the server is back.
      this.#places.hold(caller, places);
      return new SharedGrant({ ...this.#parts(caller), lease, places, status: own.status(caller) });
    } catch (refused) {
      if (!(refused instanceof NodeError)) throw refused;
      return { refused, status: own.status(caller) };
    }
  }

  #placesFor({ takesPlace = true }: LimitedCaller): string[] {
    return this.#places.names(takesPlace ? 1 : 0);
  }

  #parts(caller: LimitedCaller) {
    const { connection, own } = this.#options;
    return { caller, connection, own, held: this.#places };
  }
}

const isBounded = ({ limits }: LimitedCaller): boolean =>
  limits.requestsPerMinute > 0 || limits.tokensPerMinute > 0 || limits.concurrency > 0;

/** Where the numbers would let it in again by now. */
const full = (): NodeError =>
  new NodeError("too_many_requests", "Rate limit reached. Ask again in 1 s.", {
    retryAfterMs: 1000,
  });

const away = (): NodeError =>
  new NodeError(
    "unavailable",
    "The nodes' common limits cannot be held now: their Redis server is away, and this node refuses requests meanwhile. Ask again in 2 s.",
    { retryAfterMs },
  );
