/** Port of the replicas that serve an upstream model, as its engines use it. */
import type { NodeError } from "../../core/errors.ts";

/** How a request chooses its replica. No request has side effects, so each may be sent twice. */
export interface ReplicaChoice {
  /** Digest of the prompt's beginning, to go where it is cached. Absent: the least busy replica. */
  prefix?: string;
  /** Digest of the request: a replica is not blamed for one request that fails repeatedly. */
  request?: () => string;
  signal: AbortSignal;
}

/** A replica with a request in progress. Dispose it when the request is over. */
export interface ReplicaLease extends Disposable {
  /** With its path, such as `http://gpu-1:8000/v1`; without credentials or a trailing slash. */
  readonly url: string;
  /** It answered as a working server does, with any status. */
  succeeded(): void;
  /** It answered, and is full: others are preferred for this long. Default: 1 s. */
  overloaded(retryAfterMs?: number): void;
  /** Server error, or an invalid answer. The request may be its cause, so only several in a row count as a failure. */
  faulted(why: string): void;
  /** It could not be reached, broke off, or timed out. `mayAnswer`: at something besides its answers, so that any of these ends the outage. */
  failed(why: string, options?: { mayAnswer: boolean }): void;
}

export interface Replicas {
  /** All addresses, for node information. */
  urls(): string[];
  /**
   * Runs `attempt` with a replica. If it throws a `NotBegun`, nothing of the answer has been seen,
   * and another replica is tried, after failures, or refusals by replicas that refused lately, at most twice; any other error is rethrown. The lease is disposed
   * here if `attempt` throws, and by the reader of the answer if it returns.
   */
  attempt<Result>(
    choice: ReplicaChoice,
    attempt: (lease: ReplicaLease) => Promise<Result>,
  ): Promise<Result>;
  /** Why no replica can be used; undefined while one can. Contains no address. */
  problem(): string | undefined;
}

/** The replica did not begin to answer: another may be tried. */
export class NotBegun extends Error {
  override readonly name = "NotBegun";

  /** `reason`: the error for the caller if no other replica answers. `isRefusal`: it has computed nothing, and any number of others that refused nothing lately may be tried. */
  constructor(
    readonly reason: NodeError,
    readonly isRefusal = false,
  ) {
    super(reason.message, { cause: reason });
  }
}
