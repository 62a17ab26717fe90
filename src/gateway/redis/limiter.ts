/** Rate limits shared by several nodes through Redis; each node counts alone while it is away. */
import { randomBytes } from "node:crypto";
import { NodeError } from "../../core/errors.ts";
import {
  type LimitedCaller,
  type RateLimiter,
  type RateLimitStatus,
  refusalOf,
  tooManyAnswers,
} from "../../core/limits/rate-limiter.ts";
import type { Decision, Grant, Limiter } from "../../core/ports/limiter.ts";
import type { RedisConnection } from "./connection.ts";
import { count, placeMs, placesOf } from "./limit-counts.ts";

export interface RedisLimiterOptions {
  connection: RedisConnection;
  /** This node's own counts, maintained while Redis is up too, to continue from if it goes away. */
  own: RateLimiter;
  whenAway: "serve" | "refuse";
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
    const counted = await count(connection, caller, { check: "all", requests: 1, places });
    if (counted === undefined) {
      const decision = this.#decideAlone(caller, places);
      // Redis may have taken the places, and not have answered in time.
      if ("refused" in decision) this.#places.hold(caller, places)[Symbol.dispose]();
      return decision;
    }
    const { isRefused, standing, status } = counted;
    if (isRefused) return { refused: refusalOf(caller, standing) ?? full(), status };
    return this.#grant(caller, own.lease(caller, { isAdmitted: true }), places, status);
  }

  #decideAlone(caller: LimitedCaller, places = this.#placesFor(caller)): Decision {
    const { own, whenAway, onAlone } = this.#options;
    onAlone();
    if (whenAway === "refuse") return { refused: away(), status: {} };
    const decision = own.acquire(caller);
    if ("refused" in decision || !isBounded(caller)) return decision;
    // Its places are counted for all nodes as soon as Redis is back.
    return this.#grant(caller, decision, places, own.status(caller));
  }

  #placesFor({ takesPlace = true }: LimitedCaller): string[] {
    return this.#places.names(takesPlace ? 1 : 0);
  }

  /** `lease`: in this node's own counts. */
  #grant(
    caller: LimitedCaller,
    lease: Disposable,
    places: readonly string[],
    granted: RateLimitStatus,
  ): Grant {
    const { connection, own } = this.#options;
    const held = this.#places;
    let status = granted;
    const leases = new DisposableStack();
    leases.use(lease);
    leases.use(held.hold(caller, places));
    return {
      status: () => status,
      async reserve(answers) {
        const places = held.names(answers - 1);
        const counted = await count(connection, caller, { check: "places", places });
        if (counted?.isRefused === true) {
          const { active } = counted.standing;
          const refused = tooManyAnswers(caller, { answers, active });
          if (refused !== undefined) throw refused;
        }
        const more = new DisposableStack();
        // If Redis is away, this node counts alone.
        more.use(own.leaseFor(answers, caller, { isAdmitted: counted !== undefined }));
        more.use(held.hold(caller, places));
        // If the request ended meanwhile, the places are given back.
        if (leases.disposed) more.dispose();
        else leases.use(more);
      },
      async charge(tokens) {
        if (caller.limits.tokensPerMinute === 0) return;
        own.charge(caller, tokens);
        const counted = await count(connection, caller, { check: "nothing", tokens });
        status = counted?.status ?? own.status(caller);
      },
      [Symbol.dispose]: () => leases.dispose(),
    };
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

interface Held {
  caller: LimitedCaller;
  places: Set<string>;
}

/** Renewed, so that they count again in a server that came back empty. */
class HeldPlaces implements Disposable {
  readonly #connection: RedisConnection;
  /** Distinguishes this process from others, and from the previous one. */
  readonly #node = randomBytes(6).toString("hex");
  readonly #held = new Map<string, Held>();
  /** Released while the server did not answer; it may still count them. */
  readonly #owed: (readonly string[])[] = [];
  readonly #renewing: ReturnType<typeof setInterval>;
  #made = 0;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    this.#renewing = setInterval(() => this.#renew(), placeMs / 3).unref();
    connection.watch({
      up: () => {
        for (const released of this.#owed.splice(0)) this.#remove(released);
        this.#renew();
      },
    });
  }

  names(many: number): string[] {
    return Array.from({ length: many }, () => `${this.#node}:${(this.#made++).toString(36)}`);
  }

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
    this.#remove([placesOf(this.#connection, caller), ...places]);
  }

  #remove(released: readonly string[]): void {
    this.#connection.call("ZREM", ...released).catch(() => {
      // Further ones expire by themselves.
      if (this.#owed.length < mostOwed) this.#owed.push(released);
    });
  }

  #renew(): void {
    if (!this.#connection.isUp) return;
    for (const { caller, places } of this.#held.values()) {
      void count(this.#connection, caller, { check: "nothing", places: [...places] });
    }
  }
}

const mostOwed = 1000;
