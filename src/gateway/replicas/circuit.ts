/**
 * The circuit breaker of one replica. It is `up` and takes its share; after a failure it is `out`
 * and left alone for a while that grows with every failure in a row; then it is on `trial`, where
 * one request at a time shows whether it is up again.
 */
import type { ReplicaState } from "../../core/ports/telemetry.ts";

export interface Backoff {
  /** How long it is left alone after a first failure. */
  firstPauseMs: number;
  /** The longest that a pause becomes by doubling. */
  longestPauseMs: number;
}

export const defaultBackoff: Backoff = { firstPauseMs: 1000, longestPauseMs: 30_000 };

/** One that was up for so long was well: its next failure begins a new series. */
const steadyMs = 10_000;
/** Fewer failures in a row than this may be an accident. */
const isAccident = (failures: number): boolean => failures < 3;

export interface CircuitOptions {
  now: () => number;
  /** From 0 to 1, for the jitter. */
  random: () => number;
  backoff: Backoff;
  /** What it begins as: `trial` where nothing is known of it and others are up. */
  state: "up" | "trial";
}

export class Circuit {
  readonly #options: CircuitOptions;
  #state: ReplicaState;
  #failures = 0;
  #upSince: number;
  #dueAt = 0;
  /** Counts how often it went out; tells requests of before from those of after. */
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

  /** What a request keeps that is sent now, for `failed`. */
  get outages(): number {
    return this.#outages;
  }

  /** Whether so much speaks against it that only one request at a time may try it. */
  get isShut(): boolean {
    return this.#state === "out" && !isAccident(this.#failures);
  }

  /** How long it is still left alone. */
  get remainingMs(): number {
    return this.#state === "out" ? Math.max(0, this.#dueAt - this.#options.now()) : 0;
  }

  succeeded(): void {
    if (this.#state === "up") return;
    this.#state = "up";
    this.#upSince = this.#options.now();
  }

  /**
   * It failed a request, or did not answer when it was asked how it is. Returns for how long it is
   * left alone now; undefined where that was decided already: a server that ends breaks off all its
   * answers at once, which is one failure and not many.
   */
  failed(outagesAtStart: number): number | undefined {
    if (outagesAtStart < this.#outages) return undefined;
    const { now, random, backoff } = this.#options;
    if (this.#state === "up" && now() - this.#upSince > steadyMs) this.#failures = 0;
    const pause = Math.min(backoff.longestPauseMs, backoff.firstPauseMs * 2 ** this.#failures);
    // Half of it by chance, so that several nodes do not ask at the same moment.
    const jittered = pause * (0.5 + random() / 2);
    this.#failures++;
    this.#outages++;
    this.#state = "out";
    this.#dueAt = now() + jittered;
    return jittered;
  }

  /** It was left alone for long enough, and answers when it is asked how it is. */
  tryAgain(): void {
    if (this.#state === "out") this.#state = "trial";
  }
}
