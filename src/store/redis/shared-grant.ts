/** A request that was let in by limits that several nodes share. */
import { NodeError } from "../../core/errors.ts";
import type {
  Lease,
  LimitedCaller,
  RateLimiter,
  RateLimitStatus,
} from "../../core/limits/rate-limiter.ts";
import { tooManyAnswers } from "../../core/limits/refusals.ts";
import type { Grant } from "../../core/ports/limiter.ts";
import type { RedisConnection } from "./connection.ts";
import type { HeldPlaces } from "./held-places.ts";
import { type Counted, count, type Use } from "./limit-script.ts";

export interface SharedGrantOptions {
  caller: LimitedCaller;
  connection: RedisConnection;
  /** What this node alone counts. */
  own: RateLimiter;
  held: HeldPlaces;
  /** Of this node's own counting. */
  lease: Lease;
  /** Names of the places that it holds. */
  places: readonly string[];
  status: RateLimitStatus;
}

export class SharedGrant implements Grant {
  readonly #options: SharedGrantOptions;
  readonly #leases = new DisposableStack();
  #status: RateLimitStatus;

  constructor(options: SharedGrantOptions) {
    this.#options = options;
    this.#status = options.status;
    const { caller, held, lease, places } = options;
    this.#leases.use(lease);
    this.#leases.defer(() => held.release(caller, places));
  }

  status(): RateLimitStatus {
    return this.#status;
  }

  async reserve(answers: number): Promise<void> {
    const { caller, own, held } = this.#options;
    const places = held.names(answers - 1);
    const counted = await this.#count({ check: "places", places });
    const refused =
      counted?.refusedBy === undefined
        ? undefined
        : tooManyAnswers(caller, { answers, active: counted.active });
    if (refused !== undefined) throw refused;
    // The server is away: this node counts alone.
    const lease =
      counted === undefined ? own.acquireFor(answers, caller) : own.recordFor(answers, caller);
    held.hold(caller, places);
    if (this.#leases.disposed) {
      // It ended meanwhile, and holds no places any more.
      lease[Symbol.dispose]();
      held.release(caller, places);
      return;
    }
    this.#leases.use(lease);
    this.#leases.defer(() => held.release(caller, places));
  }

  async charge(tokens: number): Promise<void> {
    const { caller, own } = this.#options;
    if (caller.limits.tokensPerMinute === 0) return;
    own.charge(caller, tokens);
    const counted = await this.#count({ check: "nothing", tokens });
    this.#status = counted?.status ?? own.status(caller);
  }

  [Symbol.dispose](): void {
    this.#leases.dispose();
  }

  /** Undefined where the server is away. */
  async #count(use: Use): Promise<Counted | undefined> {
    const { connection, caller } = this.#options;
    try {
      return await count(connection, caller, use);
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      return undefined;
    }
  }
}
