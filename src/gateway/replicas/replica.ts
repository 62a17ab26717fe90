/** The addresses that serve an upstream model, as its engines see them. */
import type { NodeError } from "../../core/errors.ts";

/**
 * What a request says about which replica would suit it. Every request may be sent a second time:
 * chats, embeddings, reranking and counting of tokens have no effect besides their answer.
 */
export interface ReplicaChoice {
  /** The beginning of its prompt, by digest: requests that begin alike go where it is cached. Absent: the one with least to do. */
  prefix?: string;
  /** Tells this request from others, by digest: a replica is not blamed for one request that fails again and again. */
  request?: () => string;
  signal: AbortSignal;
}

/** A replica while a request is with it. Disposing it says that the request is over. */
export interface ReplicaLease extends Disposable {
  /** With its path, such as `http://gpu-1:8000/v1`; without credentials and without a slash at its end. */
  readonly url: string;
  /** It answered, with whatever status a working server answers. */
  succeeded(): void;
  /** The same, and it has no room for more now: others come first until it has (default: a second). */
  overloaded(retryAfterMs?: number): void;
  /** It failed with an error of its own. That may be the request's doing, so only several requests in a row are a failure. */
  faulted(why: string): void;
  /** It could not be reached, broke off, was silent for too long, or answered what no working server answers. */
  failed(why: string): void;
}

export interface Replicas {
  /** Every address, for node information. */
  urls(): string[];
  /**
   * Runs `attempt` with a replica. Where it throws a `NotBegun`, nothing of its answer has been seen,
   * and another replica is tried, at most twice; any other error is thrown on. A lease is disposed of
   * where `attempt` throws; where it returns, by the reader of the answer.
   */
  attempt<Result>(
    choice: ReplicaChoice,
    attempt: (lease: ReplicaLease) => Promise<Result>,
  ): Promise<Result>;
  /** Why none can be used now; undefined while one of them can. It names no address. */
  problem(): string | undefined;
}

/** A request that a replica did not begin to answer: another may be tried. */
export class NotBegun extends Error {
  override readonly name = "NotBegun";

  /** `reason`: what the caller is told where no other replica answers. */
  constructor(readonly reason: NodeError) {
    super(reason.message, { cause: reason });
  }
}

/** Time as replicas use it, so that a test can have its own. */
export interface Clock {
  /** Milliseconds of a clock that never jumps. */
  now(): number;
  /** Runs it later, unless what is returned was disposed of before. */
  after(ms: number, run: () => void): Disposable;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    // Asking a replica that is out keeps no process alive.
    timer.unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};
