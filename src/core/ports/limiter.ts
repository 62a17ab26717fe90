/** Port: enforces callers' limits. A local decision is no promise, so that a single node never waits. */
import type { NodeError } from "../errors.ts";
import type { LimitedCaller, RateLimitStatus } from "../limits/rate-limiter.ts";

export interface Limiter {
  acquire(caller: LimitedCaller): Decision | Promise<Decision>;
}

export type Decision = Grant | Refusal;

interface Refusal {
  refused: NodeError;
  status: RateLimitStatus;
}

/** An admitted request; disposing of it releases its places, once. */
export interface Grant extends Disposable {
  /** What the caller has left, as last reported. */
  status(): RateLimitStatus;
  /** Takes a place for each answer of the request; throws if there are too many. */
  reserve(answers: number): void | Promise<void>;
  charge(tokens: number): void | Promise<void>;
}
