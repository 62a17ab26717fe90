/** One replica of a set: its load, its health and the leases on it. */
import type { Circuit } from "./circuit.ts";
import type { ReplicaLease } from "./replica.ts";

export interface MemberOptions {
  circuit: Circuit;
  now: () => number;
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
/** Upper bound for the time that it names. */
const longestSpareMs = 30_000;

export class Member {
  readonly url: string;
  readonly circuit: Circuit;
  readonly #options: MemberOptions;
  #inFlight = 0;
  #trials = 0;
  #sparedUntil = 0;
  /** The distinct requests in a row that got a server error. */
  readonly #faults = new Set<unknown>();
  #lastLease = 0;

  constructor(url: string, options: MemberOptions) {
    this.url = url;
    this.circuit = options.circuit;
    this.#options = options;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** The number of its last lease; the lowest belongs to the least recently used member. */
  get lastLease(): number {
    return this.#lastLease;
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

  /** Whether it recently reported being overloaded. */
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
    this.#inFlight++;
    this.#lastLease = this.#options.nextLease();
    if (isTrial) this.#trials++;
    const endTrial = (): void => {
      if (isTrial) this.#trials--;
      isTrial = false;
    };
    const failed = (why: string): void => {
      endTrial();
      onFailed(this, why, circuit.failed(outages));
    };
    const succeeded = (): void => {
      endTrial();
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
      failed,
      faulted: (why) => {
        const isNew = this.#rememberFault(request?.() ?? Symbol());
        // A replica on trial has failed it, unless this request is known to fail.
        if (isNew && (this.#faults.size >= mostFaults || circuit.state !== "up")) failed(why);
        else endTrial();
      },
      [Symbol.dispose]: () => {
        endTrial();
        if (isHeld) this.#inFlight--;
        isHeld = false;
      },
    };
  }

  /** Whether this request is not among those in a row that got an error. */
  #rememberFault(request: unknown): boolean {
    const isNew = !this.#faults.has(request);
    this.#faults.add(request);
    const [oldest] = this.#faults;
    if (this.#faults.size > rememberedFaults) this.#faults.delete(oldest);
    return isNew;
  }
}
