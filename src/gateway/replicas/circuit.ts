/**
 * The circuit breaker of one replica. `up`: it gets its share of requests. `out`: after a failure
 * it gets none, for a pause that grows with every failure in a row. `trial`: then one request at a
 * time shows whether it is up again.
 */
import type { ReplicaState } from "../../core/ports/telemetry.ts";

export interface Backoff {
  /** The pause after a first failure. */
  firstPauseMs: number;
  /** The pause doubles up to this. */
  longestPauseMs: number;
}

export const defaultBackoff: Backoff = { firstPauseMs: 1000, longestPauseMs: 30_000 };

/** After this long up, the next failure starts a new series. */
const steadyMs = 10_000;
/** Fewer than 3 failures in a row may be an accident. */
const isAccident = (failures: number): boolean => failures < 3;

export interface CircuitOptions {
  now: () => number;
  /** From 0 to 1, for the jitter. */
  random: () => number;
  backoff: Backoff;
  /** The initial state: `trial` for a replica that is added while others are up. */
  state: "up" | "trial";
}

export class Circuit {
  readonly #options: CircuitOptions;
  #state: ReplicaState;
  #failures = 0;
  #upSince: number;
  #dueAt = 0;
  /** Number of outages; distinguishes requests sent before one from those sent after it. */
  #outages = 0;

  constructor(options: CircuitOptions) {
    this.#options = options;
    this.#state = options.state;
    this.#upSince = options.now();
  }

  get state(): ReplicaState {
    return this.#state;
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** To be passed to `failed` by a request that is sent now. */
  get outages(): number {
    return this.#outages;
  }

  /** Whether it failed so often that only one request at a time may try it. */
  get isShut(): boolean {
    return this.#state === "out" && !isAccident(this.#failures);
  }

  /** What is left of the pause. */
  get remainingMs(): number {
    return this.#state === "out" ? Math.max(0, this.#dueAt - this.#options.now()) : 0;
  }

  succeeded(): void {
    if (this.#state === "up") return;
    this.#state = "up";
    this.#upSince = this.#options.now();
  }

  /**
   * Records that a request or a probe failed. Returns the pause that follows, or undefined if the
   * outage was counted already: a server that exits breaks off all its answers at once, which is
   * one failure and not many.
   */
  failed(outagesAtStart: number): number | undefined {
    if (outagesAtStart < this.#outages) return undefined;
    const { now, random, backoff } = this.#options;
    if (this.#state === "up" && now() - this.#upSince > steadyMs) this.#failures = 0;
    const pause = Math.min(backoff.longestPauseMs, backoff.firstPauseMs * 2 ** this.#failures);
    // Half of it is random, so that several nodes do not retry at the same moment.
    const jittered = pause * (0.5 + random() / 2);
    this.#failures++;
    this.#outages++;
    this.#state = "out";
    this.#dueAt = now() + jittered;
    return jittered;
  }

  /** The pause is over, and the probe succeeded. */
  tryAgain(): void {
    if (this.#state === "out") this.#state = "trial";
  }
}
