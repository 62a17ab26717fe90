/** Rate limits shared by several nodes through Redis; each node counts alone while it is away. */
import { randomBytes } from "node:crypto";
import { NodeError } from "../../core/errors.ts";
import {
  type Lease,
  type LimitedCaller,
  type RateLimiter,
  type RateLimitStatus,
  refusalOf,
  tooManyAnswers,
} from "../../core/limits/rate-limiter.ts";
import type { Decision, Grant, Limiter } from "../../core/ports/limiter.ts";
import type { RedisConnection } from "./connection.ts";
import { type Counted, count, placeMs, placesOf, type Use } from "./limit-script.ts";

type WhenAway = "serve" | "refuse";

export interface RedisLimiterOptions {
  connection: RedisConnection;
  /** This node's own counts, maintained while Redis is up too, to continue from if it goes away. */
  own: RateLimiter;
  whenAway: WhenAway;
  /** Called for every request that this node decides alone because Redis is away. */
  onAlone: () => void;
}

/** About the longest pause between two attempts to reconnect. */
const retryAfterMs = 2000;

export class RedisLimiter implements Limiter, Disposable {
  readonly #options: RedisLimiterOptions;
  readonly #places: HeldPlaces;

  constructor(options: RedisLimiterOptions) {
    this.#options = options;
    this.#places = new HeldPlaces(options.connection);
  }

  acquire(caller: LimitedCaller): Decision | Promise<Decision> {
    if (!this.#options.connection.isUp) return this.#decideAlone(caller);
    return isBounded(caller) ? this.#ask(caller) : this.#options.own.acquire(caller);
  }

  [Symbol.dispose](): void {
    this.#places[Symbol.dispose]();
  }

  async #ask(caller: LimitedCaller): Promise<Decision> {
    const { connection, own } = this.#options;
    const places = this.#placesFor(caller);
    try {
      const counted = await count(connection, caller, { check: "all", requests: 1, places });
      const { status } = counted;
      if (counted.refusedBy !== undefined) {
        return { refused: refusalOf(caller, counted.standing) ?? full(), status };
      }
      const lease = own.lease(caller, { isAdmitted: true });
      return new SharedGrant(this.#options, this.#places, caller, { lease, places, status });
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      return this.#decideAlone(caller);
    }
  }

  #decideAlone(caller: LimitedCaller): Decision {
    const { own, whenAway, onAlone } = this.#options;
    onAlone();
    if (whenAway === "refuse") return { refused: away(), status: {} };
    if (!isBounded(caller)) return own.acquire(caller);
    try {
      const lease = own.lease(caller);
      const places = this.#placesFor(caller);
      // Its places are counted for all nodes as soon as Redis is back.
      const granted = { lease, places, status: own.status(caller) };
      return new SharedGrant(this.#options, this.#places, caller, granted);
    } catch (refused) {
      if (!(refused instanceof NodeError)) throw refused;
      return { refused, status: own.status(caller) };
    }
  }

  #placesFor({ takesPlace = true }: LimitedCaller): string[] {
    return this.#places.names(takesPlace ? 1 : 0);
  }
}

const isBounded = ({ limits }: LimitedCaller): boolean =>
  limits.requestsPerMinute > 0 || limits.tokensPerMinute > 0 || limits.concurrency > 0;

/** For a refusal whose limit is free again by now. */
const full = (): NodeError =>
  new NodeError("too_many_requests", "Rate limit reached. Try again in 1 s.", {
    retryAfterMs: 1000,
  });

const away = (): NodeError =>
  new NodeError(
    "unavailable",
    "The nodes' common limits cannot be held now: their Redis server is away, and this node refuses requests meanwhile. Try again in 2 s.",
    { retryAfterMs },
  );

interface Granted {
  /** The lease in this node's own counts. */
  lease: Lease;
  places: readonly string[];
  status: RateLimitStatus;
}

class SharedGrant implements Grant {
  readonly #options: RedisLimiterOptions;
  readonly #held: HeldPlaces;
  readonly #caller: LimitedCaller;
  readonly #leases = new DisposableStack();
  #status: RateLimitStatus;

  constructor(
    options: RedisLimiterOptions,
    held: HeldPlaces,
    caller: LimitedCaller,
    { lease, places, status }: Granted,
  ) {
    this.#options = options;
    this.#held = held;
    this.#caller = caller;
    this.#status = status;
    this.#leases.use(lease);
    this.#leases.use(held.hold(caller, places));
  }

  status(): RateLimitStatus {
    return this.#status;
  }

  async reserve(answers: number): Promise<void> {
    const caller = this.#caller;
    const places = this.#held.names(answers - 1);
    const counted = await this.#count({ check: "places", places });
    if (counted?.refusedBy !== undefined) {
      const refused = tooManyAnswers(caller, { answers, active: counted.active });
      if (refused !== undefined) throw refused;
    }
    // If Redis is away, this node counts alone.
    const isAdmitted = counted !== undefined;
    const more = new DisposableStack();
    more.use(this.#options.own.leaseFor(answers, caller, { isAdmitted }));
    more.use(this.#held.hold(caller, places));
    // If the request ended meanwhile, the places are given back.
    if (this.#leases.disposed) more.dispose();
    else this.#leases.use(more);
  }

  async charge(tokens: number): Promise<void> {
    const { own } = this.#options;
    const caller = this.#caller;
    if (caller.limits.tokensPerMinute === 0) return;
    own.charge(caller, tokens);
    const counted = await this.#count({ check: "nothing", tokens });
    this.#status = counted?.status ?? own.status(caller);
  }

  [Symbol.dispose](): void {
    this.#leases.dispose();
  }

  /** Undefined if Redis is away. */
  async #count(use: Use): Promise<Counted | undefined> {
    try {
      return await count(this.#options.connection, this.#caller, use);
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      return undefined;
    }
  }
}

interface Held {
  caller: LimitedCaller;
  places: Set<string>;
}

/**
 * The places held by requests in progress, renewed periodically: they count again in a server that
 * was paused or came back empty, while those of a node that died expire.
 */
class HeldPlaces implements Disposable {
  readonly #connection: RedisConnection;
  /** Distinguishes this process from others, and from the previous one. */
  readonly #node = randomBytes(6).toString("hex");
  readonly #held = new Map<string, Held>();
  readonly #renewing: ReturnType<typeof setInterval>;
  #made = 0;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    this.#renewing = setInterval(() => this.#renew(), placeMs / 3).unref();
    connection.watch({ up: () => this.#renew() });
  }

  /** New, unused names for places. */
  names(many: number): string[] {
    return Array.from({ length: many }, () => `${this.#node}:${(this.#made++).toString(36)}`);
  }

  /** Until the returned disposable is disposed. */
  hold(caller: LimitedCaller, places: readonly string[]): Disposable {
    const release = { [Symbol.dispose]: () => this.#release(caller, places) };
    if (caller.limits.concurrency === 0 || places.length === 0) return release;
    const held = this.#held.get(caller.id) ?? { caller, places: new Set() };
    // A key's limits may have changed since.
    held.caller = caller;
    for (const place of places) held.places.add(place);
    this.#held.set(caller.id, held);
    return release;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#renewing);
  }

  #release(caller: LimitedCaller, places: readonly string[]): void {
    const held = this.#held.get(caller.id);
    if (held === undefined || places.length === 0) return;
    for (const place of places) held.places.delete(place);
    if (held.places.size === 0) this.#held.delete(caller.id);
    if (!this.#connection.isUp) return;
    // If this fails, the place expires by itself.
    this.#connection
      .call("ZREM", placesOf(this.#connection, caller), ...places)
      .catch(() => undefined);
  }

  #renew(): void {
    if (!this.#connection.isUp) return;
    for (const { caller, places } of this.#held.values()) {
      count(this.#connection, caller, { check: "nothing", places: [...places] }).catch(
        () => undefined,
      );
    }
  }
}
