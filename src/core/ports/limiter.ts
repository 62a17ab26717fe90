/**
 * Who holds callers to their limits: this node alone, or several nodes together. What can be decided
 * here and now is returned as it is, so that a node that asks nobody never waits.
 */
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

/** A request that is let in; disposing of it gives its places back, once. */
export interface Grant extends Disposable {
  /** What the caller has left, as it was last heard. */
  status(): RateLimitStatus;
  /** Takes a place for each answer that the request turns out to be for; throws where those are too many. */
  reserve(answers: number): void | Promise<void>;
  /** Counts what an answer used. */
  charge(tokens: number): void | Promise<void>;
}
