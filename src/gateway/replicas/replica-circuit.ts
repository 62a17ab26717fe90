/** One replica of a set: its load, the leases on it, and its circuit, which opens after failures. */
import type { ReplicaState } from "../../core/ports/telemetry.ts";
import type { ReplicaLease } from "./replica.ts";

interface MemberOptions extends CircuitOptions {
  /** Returns the next number in a count of the leases of all members. */
  nextLease: () => number;
  /** A request failed. `pauseMs`: the pause that follows, if this began a new outage. */
  onFailed: (member: Member, why: string, pauseMs: number | undefined) => void;
  /** The replica answered after an outage or a trial. */
  onUp: (member: Member) => void;
}

/** How many different requests in a row must get a server error to count as a failure. */
const mostFaults = 3;
/** How many of them are remembered, so that a client that repeats one does not fail a trial. */
const rememberedFaults = 16;
/** How long an overloaded replica is spared if it names no time. */
const defaultSpareMs = 1000;
const longestSpareMs = 30_000;

export class Member {
  readonly url: string;
  readonly circuit: Circuit;
  readonly #options: MemberOptions;
  inFlight = 0;
  /** The number of its last lease; the lowest belongs to the least recently used member. */
  lastLease = 0;
  #trials = 0;
  #sparedUntil = 0;
  /** The distinct requests in a row that got a server error. */
  readonly #faults = new Set<unknown>();

  constructor(url: string, options: MemberOptions) {
    this.url = url;
    this.circuit = new Circuit(options);
    this.#options = options;
  }

  /** Whether a request in progress is testing whether it is up again. */
  get isOnTrial(): boolean {
    return this.#trials > 0;
  }

  /** Whether it may get requests: its share, or the one that tests it. */
  get isOpen(): boolean {
    const { state } = this.circuit;
    return state === "up" || (state === "trial" && !this.isOnTrial);
  }

  get isSpared(): boolean {
    return this.#options.now() < this.#sparedUntil;
  }

  /** In progress until the lease is disposed. Without `request`, the request counts as unique. */
  lease(request?: () => string): ReplicaLease {
    const { circuit } = this;
    const { onUp, onFailed } = this.#options;
    const outages = circuit.outages;
    let isTrial = circuit.state !== "up";
    let isHeld = true;
    this.inFlight++;
    this.lastLease = this.#options.nextLease();
    if (isTrial) this.#trials++;
    const endTrial = (): void => {
      if (isTrial) this.#trials--;
      isTrial = false;
    };
    const failed = (why: string, hasAnswered = false): void => {
      endTrial();
      onFailed(this, why, circuit.failed(outages, hasAnswered ? "answer" : "connection"));
    };
    /** An answer that has begun may still turn out invalid: then it was no success. */
    let forgotten: unknown[] = [];
    const succeeded = (): void => {
      endTrial();
      forgotten = [...this.#faults];
      this.#faults.clear();
      if (circuit.state === "up") return;
      circuit.succeeded();
      onUp(this);
    };
    return {
      url: this.url,
      succeeded,
      overloaded: (retryAfterMs = defaultSpareMs) => {
        succeeded();
        this.#sparedUntil = this.#options.now() + Math.min(retryAfterMs, longestSpareMs);
      },
      failed: (why, { mayAnswer } = { mayAnswer: false }) => failed(why, mayAnswer),
      faulted: (why) => {
        for (const each of forgotten.splice(0)) this.#faults.add(each);
        const isNew = this.#rememberFault(request?.() ?? Symbol());
        // A replica on trial has failed it, unless this request is known to fail.
        if (isNew && (this.#faults.size >= mostFaults || circuit.state !== "up")) failed(why, true);
        else endTrial();
      },
      [Symbol.dispose]: () => {
        endTrial();
        if (isHeld) this.inFlight--;
        isHeld = false;
      },
    };
  }

  #rememberFault(request: unknown): boolean {
    const isNew = !this.#faults.has(request);
    this.#faults.add(request);
    const [oldest] = this.#faults;
    if (this.#faults.size > rememberedFaults) this.#faults.delete(oldest);
    return isNew;
  }
}

export interface Backoff {
  firstPauseMs: number;
  /** The pause doubles up to this. */
  longestPauseMs: number;
}

export const defaultBackoff: Backoff = { firstPauseMs: 1000, longestPauseMs: 30_000 };

/** After this long up, the next failure starts a new series. */
const steadyMs = 10_000;
/** Failed probes in a row; fewer may be an accident. Requests do not count: one caller's may all fail. */
const shutAfter = 2;
/** Nothing but failures for about half a minute: fewer may be those of one caller's requests. */
const badAfter = 6;

/** `answer`: a server error or an invalid answer; or it may answer others. `connection`: none, or it broke off. `probe`: when it was asked by nobody's request. */
type FailureKind = "answer" | "connection" | "probe";

interface CircuitOptions {
  now: () => number;
  random: () => number;
  backoff: Backoff;
  /** The initial state: `trial` for a replica that is added while others are up. */
  state: "up" | "trial";
}

/**
 * The circuit breaker of one replica. `up`: it gets its share of requests. `out`: after a failure
 * it gets none, for a pause that grows with every failure in a row. `trial`: then one request at a
 * time shows whether it is up again.
 */
export class Circuit {
  state: ReplicaState;
  failures = 0;
  /** Since the last answer. */
  #inARow = 0;
  /** Whether one of these was no answer. */
  #isUnanswered = false;
  /** Since the last answer or successful probe. */
  #failedProbes = 0;
  /** Number of outages; distinguishes requests sent before one from those sent after it. */
  outages = 0;
  readonly #options: CircuitOptions;
  #upSince: number;
  #dueAt = 0;

  constructor(options: CircuitOptions) {
    this.#options = options;
    this.state = options.state;
    this.#upSince = options.now();
  }

  /** Whether it failed so often that it is of no use to anybody. */
  get isBad(): boolean {
    return this.isShut || (this.state === "out" && this.#inARow >= badAfter);
  }

  /** Whether it answered no probe lately, so that only one request at a time may try it. */
  get isShut(): boolean {
    return this.state === "out" && this.#failedProbes >= shutAfter;
  }

  get remainingMs(): number {
    return this.state === "out" ? Math.max(0, this.#dueAt - this.#options.now()) : 0;
  }

  succeeded(): void {
    if (this.state === "up") return;
    this.state = "up";
    this.#upSince = this.#options.now();
    // Its answers failed one caller's requests, and not another's.
    if (!this.#isUnanswered) this.failures = 0;
    this.#inARow = 0;
    this.#isUnanswered = false;
    this.#failedProbes = 0;
  }

  /** Returns the pause that follows; undefined if the outage was counted already. */
  failed(outagesAtStart: number, kind: FailureKind): number | undefined {
    if (outagesAtStart < this.outages) return undefined;
    if (kind !== "probe" && this.remainingMs > 0) return undefined;
    const { now, random, backoff } = this.#options;
    if (this.state === "up" && now() - this.#upSince > steadyMs) this.failures = 0;
    const pause = Math.min(backoff.longestPauseMs, backoff.firstPauseMs * 2 ** this.failures);
    // Half of it is random, so that several nodes do not retry at the same moment.
    const jittered = pause * (0.5 + random() / 2);
    this.failures++;
    this.#inARow++;
    this.#isUnanswered ||= kind !== "answer";
    if (kind === "probe") this.#failedProbes++;
    this.outages++;
    this.state = "out";
    this.#dueAt = now() + jittered;
    return jittered;
  }

  tryAgain(): void {
    this.#failedProbes = 0;
    if (this.state === "out") this.state = "trial";
  }
}
