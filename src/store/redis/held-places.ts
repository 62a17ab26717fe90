/**
 * The places that requests in progress hold, renewed while they are: in a server that was paused or
 * came back empty they count again, and those of a node that died do not.
 */
import { randomBytes } from "node:crypto";
import type { LimitedCaller } from "../../core/limits/rate-limiter.ts";
import type { RedisConnection } from "./connection.ts";
import { count, placeMs, placesOf } from "./limit-script.ts";

interface Held {
  caller: LimitedCaller;
  places: Set<string>;
}

export class HeldPlaces implements Disposable {
  readonly #connection: RedisConnection;
  /** Tells this process from others, and from the one before. */
  readonly #node = randomBytes(6).toString("hex");
  readonly #held = new Map<string, Held>();
  readonly #renewing: ReturnType<typeof setInterval>;
  #made = 0;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    this.#renewing = setInterval(() => this.#renew(), placeMs / 3).unref();
    connection.watch({ up: () => this.#renew(), down: () => {} });
  }

  /** Names for so many places, which nobody holds yet. */
  names(many: number): string[] {
    return Array.from({ length: many }, () => `${this.#node}:${(this.#made++).toString(36)}`);
  }

  hold(caller: LimitedCaller, places: readonly string[]): void {
    if (caller.limits.concurrency === 0 || places.length === 0) return;
    const held = this.#held.get(caller.id) ?? { caller, places: new Set() };
    // A key's limits may have changed since.
    held.caller = caller;
    for (const place of places) held.places.add(place);
    this.#held.set(caller.id, held);
  }

  release(caller: LimitedCaller, places: readonly string[]): void {
    const held = this.#held.get(caller.id);
    if (held === undefined || places.length === 0) return;
    for (const place of places) held.places.delete(place);
    if (held.places.size === 0) this.#held.delete(caller.id);
    if (!this.#connection.isUp) return;
    // One that is not given back is free after a while.
    this.#connection
      .call("ZREM", placesOf(this.#connection, caller), ...places)
      .catch(() => undefined);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#renewing);
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
