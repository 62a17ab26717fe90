/** Limits that this node holds its callers to by itself, at once. */
import { NodeError } from "../errors.ts";
import type { Decision, Grant, Limiter } from "../ports/limiter.ts";
import type { LimitedCaller, RateLimiter } from "./rate-limiter.ts";

export class LocalLimiter implements Limiter {
  readonly #limiter: RateLimiter;

  constructor(limiter: RateLimiter) {
    this.#limiter = limiter;
  }

  acquire(caller: LimitedCaller): Decision {
    const limiter = this.#limiter;
    try {
      const leases = new DisposableStack();
      leases.use(limiter.acquire(caller));
      return grantOf(limiter, caller, leases);
    } catch (refused) {
      if (!(refused instanceof NodeError)) throw refused;
      return { refused, status: limiter.status(caller) };
    }
  }
}

const grantOf = (limiter: RateLimiter, caller: LimitedCaller, leases: DisposableStack): Grant => ({
  status: () => limiter.status(caller),
  reserve: (answers) => {
    // What has ended holds no places any more.
    if (!leases.disposed) leases.use(limiter.acquireFor(answers, caller));
  },
  charge: (tokens) => limiter.charge(caller, tokens),
  [Symbol.dispose]: () => leases.dispose(),
});
