/** How much each caller may request of this node: requests and tokens a minute, and requests at once. */
import { NodeError } from "../errors.ts";
import type { Decision, Limiter } from "../ports/limiter.ts";
import { refusalOf, tooManyAnswers } from "./refusals.ts";
import { minuteMs, type RateLimit, TokenBucket } from "./token-bucket.ts";

/** 0: no bound. */
export interface CallerLimits {
  requestsPerMinute: number;
  tokensPerMinute: number;
  concurrency: number;
}

export const noLimits: CallerLimits = { requestsPerMinute: 0, tokensPerMinute: 0, concurrency: 0 };

export interface LimitedCaller {
  /** Whose requests count together. */
  id: string;
  /** As a message calls it: "The key 'ada'". */
  called: string;
  limits: CallerLimits;
  /** Whether this request takes one of the caller's places while it is answered; default: it does. */
  takesPlace?: boolean;
}

/** What a caller has left; absent where there is no bound. */
export interface RateLimitStatus {
  requests?: RateLimit;
  tokens?: RateLimit;
}

/** A place among the caller's requests in progress; disposing of it gives the place back, once. */
export type Lease = Disposable;

interface Usage {
  requests: TokenBucket;
  tokens: TokenBucket;
  /** Answers in progress. */
  active: number;
}

export class RateLimiter implements Limiter {
  readonly #now: () => number;
  readonly #usages = new Map<string, Usage>();
  #sweptAt: number;

  /** `now`: milliseconds of a clock that never jumps. */
  constructor(now: () => number) {
    this.#now = now;
    this.#sweptAt = now();
  }

  /** How many callers are remembered: those with answers in progress, or with a bucket that is not full. */
  get size(): number {
    return this.#usages.size;
  }

  acquire(caller: LimitedCaller): Decision {
    const leases = new DisposableStack();
    try {
      leases.use(this.lease(caller));
    } catch (refused) {
      if (!(refused instanceof NodeError)) throw refused;
      return { refused, status: this.status(caller) };
    }
    return {
      status: () => this.status(caller),
      reserve: (answers) => {
        // A request that has ended holds no places any more.
        if (!leases.disposed) leases.use(this.leaseFor(answers, caller));
      },
      charge: (tokens) => this.charge(caller, tokens),
      [Symbol.dispose]: () => leases.dispose(),
    };
  }

  /** A lease for a request, which counts against the caller's limits; throws for one beyond them. */
  lease(caller: LimitedCaller): Lease {
    this.#sweep();
    const usage = this.#remember(caller);
    refuseBeyond(caller, usage);
    return take(caller, usage);
  }

  /** The same for a request that another node has let in: it counts, and is not refused. */
  record(caller: LimitedCaller): Lease {
    this.#sweep();
    return take(caller, this.#remember(caller));
  }

  /** A further lease for a request that turns out to be for several answers; throws for too many. */
  leaseFor(answers: number, caller: LimitedCaller): Lease {
    const usage = this.#remember(caller);
    const refused = tooManyAnswers(caller, { answers, active: usage.active });
    if (refused !== undefined) throw refused;
    return leaseOf(usage, answers - 1);
  }

  /** The same for a request that another node has let in. */
  recordFor(answers: number, caller: LimitedCaller): Lease {
    return leaseOf(this.#remember(caller), answers - 1);
  }

  /** Counts what an answer used; the bucket may be overdrawn, and the caller then waits longer. */
  charge(caller: LimitedCaller, tokens: number): void {
    if (caller.limits.tokensPerMinute > 0) this.#remember(caller).tokens.take(tokens);
  }

  status(caller: LimitedCaller): RateLimitStatus {
    const { requestsPerMinute, tokensPerMinute } = caller.limits;
    const { requests, tokens } = this.#usageOf(caller);
    return {
      ...(requestsPerMinute > 0 ? { requests: requests.status() } : {}),
      ...(tokensPerMinute > 0 ? { tokens: tokens.status() } : {}),
    };
  }

  #remember(caller: LimitedCaller): Usage {
    const usage = this.#usageOf(caller);
    this.#usages.set(caller.id, usage);
    return usage;
  }

  #usageOf({ id, limits }: LimitedCaller): Usage {
    const { requestsPerMinute, tokensPerMinute } = limits;
    const known = this.#usages.get(id);
    if (known === undefined) {
      return {
        requests: new TokenBucket(requestsPerMinute, this.#now),
        tokens: new TokenBucket(tokensPerMinute, this.#now),
        active: 0,
      };
    }
    known.requests.limit = requestsPerMinute;
    known.tokens.limit = tokensPerMinute;
    return known;
  }

  /** Forgets callers whose usage is that of a new one; once a minute, which is how long a bucket takes to fill. */
  #sweep(): void {
    const now = this.#now();
    if (now - this.#sweptAt < minuteMs) return;
    this.#sweptAt = now;
    for (const [id, { active, requests, tokens }] of this.#usages) {
      if (active === 0 && requests.isFull && tokens.isFull) this.#usages.delete(id);
    }
  }
}

function leaseOf(usage: Usage, places: number): Lease {
  usage.active += places;
  let isHeld = true;
  return {
    [Symbol.dispose]: () => {
      if (isHeld) usage.active -= places;
      isHeld = false;
    },
  };
}

function take({ limits, takesPlace = true }: LimitedCaller, usage: Usage): Lease {
  if (limits.requestsPerMinute > 0) usage.requests.take(1);
  return leaseOf(usage, takesPlace ? 1 : 0);
}

function refuseBeyond(caller: LimitedCaller, { active, requests, tokens }: Usage): void {
  const { requestsPerMinute, tokensPerMinute } = caller.limits;
  const refused = refusalOf(caller, {
    active,
    requestsWaitMs: requestsPerMinute > 0 ? requests.waitMs(1) : 0,
    tokensWaitMs: tokensPerMinute > 0 ? tokens.waitMs(1) : 0,
  });
  if (refused !== undefined) throw refused;
}
