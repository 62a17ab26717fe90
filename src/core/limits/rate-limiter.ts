/** How much each caller may ask: requests and tokens a minute, and requests at once. */
import { NodeError } from "../errors.ts";
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

/** Nobody knows when an answer in progress will end. */
const placeRetryMs = 1000;

export class RateLimiter {
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

  /** A lease for a request, which counts against the caller's limits; refuses one beyond them. */
  acquire(caller: LimitedCaller): Lease {
    this.#sweep();
    const usage = this.#remember(caller);
    refuseBeyond(caller, usage);
    if (caller.limits.requestsPerMinute > 0) usage.requests.take(1);
    return leaseOf(usage, 1);
  }

  /** A further lease for a request that turns out to be for several answers; refuses too many. */
  acquireFor(answers: number, caller: LimitedCaller): Lease {
    const { called, limits } = caller;
    const usage = this.#remember(caller);
    const more = answers - 1;
    if (limits.concurrency > 0 && answers > limits.concurrency) {
      throw new NodeError(
        "invalid_request",
        `'n' asks for ${answers} answers; ${called} may have ${limits.concurrency} in progress at once.`,
        { param: "n" },
      );
    }
    if (limits.concurrency > 0 && usage.active + more > limits.concurrency) {
      throw refusal("too_many_requests", placeRetryMs, [
        `${called} may have ${limits.concurrency} answers in progress at once; with the ${answers} of this request there would be ${usage.active + more}.`,
        "Ask again when one has ended.",
      ]);
    }
    return leaseOf(usage, more);
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

function refuseBeyond({ called, limits }: LimitedCaller, usage: Usage): void {
  const { concurrency, requestsPerMinute, tokensPerMinute } = limits;
  if (concurrency > 0 && usage.active >= concurrency) {
    throw refusal("too_many_requests", placeRetryMs, [
      `${called} may have ${concurrency} requests in progress at once, and has ${usage.active}.`,
      "Ask again when one has ended.",
    ]);
  }
  const requestsWaitMs = requestsPerMinute > 0 ? usage.requests.waitMs(1) : 0;
  if (requestsWaitMs > 0) {
    throw refusal("too_many_requests", requestsWaitMs, [
      `${called} may make ${requestsPerMinute} requests a minute.`,
      askAgain(requestsWaitMs),
    ]);
  }
  const tokensWaitMs = tokensPerMinute > 0 ? usage.tokens.waitMs(1) : 0;
  if (tokensWaitMs > 0) {
    throw refusal("too_many_tokens", tokensWaitMs, [
      `${called} may use ${tokensPerMinute} tokens a minute, and has used them.`,
      askAgain(tokensWaitMs),
    ]);
  }
}

const askAgain = (ms: number): string => `Ask again in ${Math.ceil(ms / 1000)} s.`;

const refusal = (
  kind: "too_many_requests" | "too_many_tokens",
  retryAfterMs: number,
  sentences: readonly string[],
): NodeError => new NodeError(kind, `Rate limit reached. ${sentences.join(" ")}`, { retryAfterMs });
