/** How much each caller may ask: requests and tokens a minute, and requests at once. */
import { NodeError } from "../errors.ts";

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

export interface Allowance {
  limit: number;
  remaining: number;
  /** Until all of it is there again. */
  resetMs: number;
}

/** What a caller has left; absent where there is no bound. */
export interface Standing {
  requests?: Allowance;
  tokens?: Allowance;
}

interface Account {
  requests: Spending;
  tokens: Spending;
  /** Answers in progress. */
  active: number;
}

const minuteMs = 60_000;
/** Rounding must not refuse who waited exactly as long as was said. */
const rounding = 1e-6;
/** When a place will be free nobody knows. */
const placeRetryMs = 1000;

/** What was used of an allowance; it is given back evenly over the minute, and may be overdrawn. */
class Spending {
  #spent = 0;
  #at: number;

  constructor(now: number) {
    this.#at = now;
  }

  spent(limit: number, now: number): number {
    this.#spent = Math.max(0, this.#spent - ((now - this.#at) * limit) / minuteMs);
    this.#at = now;
    return this.#spent;
  }

  add(amount: number, limit: number, now: number): void {
    this.#spent = this.spent(limit, now) + amount;
  }

  /** How long until so much of the allowance is free. */
  waitMs(amount: number, limit: number, now: number): number {
    const missing = this.spent(limit, now) + amount - limit;
    return missing <= rounding ? 0 : (missing * minuteMs) / limit;
  }

  allowance(limit: number, now: number): Allowance {
    const spent = this.spent(limit, now);
    return {
      limit,
      remaining: Math.max(0, Math.floor(limit - spent + rounding)),
      resetMs: (spent * minuteMs) / limit,
    };
  }
}

export class RateLimiter {
  readonly #now: () => number;
  readonly #accounts = new Map<string, { account: Account; limits: CallerLimits }>();
  #sweptAt: number;

  /** `now`: milliseconds of a clock that never jumps. */
  constructor(now: () => number) {
    this.#now = now;
    this.#sweptAt = now();
  }

  /** How many callers are remembered: those who are busy, or have not got everything back. */
  get size(): number {
    return this.#accounts.size;
  }

  /** Lets a request in, which holds a place until what is returned is disposed of; or refuses it. */
  admit(caller: LimitedCaller): Disposable {
    const now = this.#now();
    this.#sweep(now);
    const account = this.#account(caller, now);
    refuseBeyond(caller, account, now);
    const { requestsPerMinute } = caller.limits;
    if (requestsPerMinute > 0) account.requests.add(1, requestsPerMinute, now);
    return takePlaces(account, 1);
  }

  /** Further places for a request that was let in and is for several answers; or refuses it. */
  widen(caller: LimitedCaller, answers: number): Disposable {
    const { called, limits } = caller;
    const account = this.#account(caller, this.#now());
    const more = answers - 1;
    if (limits.concurrency > 0 && answers > limits.concurrency) {
      throw new NodeError(
        "invalid_request",
        `'n' asks for ${answers} answers; ${called} may have ${limits.concurrency} in progress at once.`,
        { param: "n" },
      );
    }
    if (limits.concurrency > 0 && account.active + more > limits.concurrency) {
      throw refusal("too_many_requests", placeRetryMs, [
        `${called} may have ${limits.concurrency} answers in progress at once; with the ${answers} of this request there would be ${account.active + more}.`,
        "Ask again when one has ended.",
      ]);
    }
    return takePlaces(account, more);
  }

  /** Counts what an answer used; the caller may come into debt, and then waits longer. */
  charge(caller: LimitedCaller, tokens: number): void {
    const { tokensPerMinute } = caller.limits;
    if (tokensPerMinute === 0) return;
    const now = this.#now();
    this.#account(caller, now).tokens.add(tokens, tokensPerMinute, now);
  }

  standing(caller: LimitedCaller): Standing {
    const now = this.#now();
    const account = this.#accounts.get(caller.id)?.account ?? newAccount(now);
    const { requestsPerMinute, tokensPerMinute } = caller.limits;
    return {
      ...(requestsPerMinute === 0
        ? {}
        : { requests: account.requests.allowance(requestsPerMinute, now) }),
      ...(tokensPerMinute === 0 ? {} : { tokens: account.tokens.allowance(tokensPerMinute, now) }),
    };
  }

  #account({ id, limits }: LimitedCaller, now: number): Account {
    const account = this.#accounts.get(id)?.account ?? newAccount(now);
    this.#accounts.set(id, { account, limits });
    return account;
  }

  /** Forgets who is not here and has everything back; once a minute, which is how long that takes. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < minuteMs) return;
    this.#sweptAt = now;
    for (const [id, { account, limits }] of this.#accounts) {
      const { requestsPerMinute, tokensPerMinute } = limits;
      const isIdle =
        account.active === 0 &&
        account.requests.spent(requestsPerMinute, now) === 0 &&
        account.tokens.spent(tokensPerMinute, now) === 0;
      if (isIdle) this.#accounts.delete(id);
    }
  }
}

function takePlaces(account: Account, places: number): Disposable {
  account.active += places;
  let isHere = true;
  return {
    [Symbol.dispose]: () => {
      if (isHere) account.active -= places;
      isHere = false;
    },
  };
}

const newAccount = (now: number): Account => ({
  requests: new Spending(now),
  tokens: new Spending(now),
  active: 0,
});

function refuseBeyond({ called, limits }: LimitedCaller, account: Account, now: number): void {
  const { concurrency, requestsPerMinute, tokensPerMinute } = limits;
  if (concurrency > 0 && account.active >= concurrency) {
    throw refusal("too_many_requests", placeRetryMs, [
      `${called} may have ${concurrency} requests in progress at once, and has ${account.active}.`,
      "Ask again when one has ended.",
    ]);
  }
  if (requestsPerMinute > 0) {
    const waitMs = account.requests.waitMs(1, requestsPerMinute, now);
    if (waitMs > 0) {
      throw refusal("too_many_requests", waitMs, [
        `${called} may make ${requestsPerMinute} requests a minute.`,
        askAgain(waitMs),
      ]);
    }
  }
  if (tokensPerMinute > 0) {
    const waitMs = account.tokens.waitMs(1, tokensPerMinute, now);
    if (waitMs > 0) {
      throw refusal("too_many_tokens", waitMs, [
        `${called} may use ${tokensPerMinute} tokens a minute, and has used them.`,
        askAgain(waitMs),
      ]);
    }
  }
}

const askAgain = (ms: number): string => `Ask again in ${Math.ceil(ms / 1000)} s.`;

const refusal = (
  kind: "too_many_requests" | "too_many_tokens",
  retryAfterMs: number,
  sentences: readonly string[],
): NodeError => new NodeError(kind, `Rate limit reached. ${sentences.join(" ")}`, { retryAfterMs });
