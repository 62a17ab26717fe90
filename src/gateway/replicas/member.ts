/** One replica of a set: what it has to do, how it is, and the leases on it. */
import type { Circuit } from "./circuit.ts";
import type { ReplicaLease } from "./replica.ts";

export interface MemberOptions {
  circuit: Circuit;
  now: () => number;
  /** Counts the leases of all members. */
  nextLease: () => number;
  /** A request failed; `pauseMs`: it is left alone for so long from now on, where that is news. */
  onFailed: (member: Member, why: string, pauseMs: number | undefined) => void;
  /** It was not up, and has answered. */
  onUp: (member: Member) => void;
}

/** So many different requests in a row that get an error of its own are a failure. */
const mostFaults = 3;
/** How many of them are remembered, so that a caller who repeats them does not fail its next trial. */
const rememberedFaults = 16;
/** How long one is spared that has no room, where it does not say. */
const defaultSpareMs = 1000;
/** One that asks for more is looked at again after so long all the same. */
const longestSpareMs = 30_000;

export class Member {
  readonly url: string;
  readonly circuit: Circuit;
  readonly #options: MemberOptions;
  #inFlight = 0;
  #trials = 0;
  #sparedUntil = 0;
  /** The requests in a row that got an error of its own, each once. */
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

  /** The number of its last lease: who has the lowest was not asked for the longest. */
  get lastLease(): number {
    return this.#lastLease;
  }

  /** Whether a request is with it that shows whether it is up again. */
  get isOnTrial(): boolean {
    return this.#trials > 0;
  }

  /** Whether it may have a share of the requests: all it can take, or the one that tries it. */
  get isOpen(): boolean {
    const { state } = this.circuit;
    return state === "up" || (state === "trial" && !this.isOnTrial);
  }

  /** Whether it said lately that it has no room. */
  get isSpared(): boolean {
    return this.#options.now() < this.#sparedUntil;
  }

  /** A request is with it until the lease is disposed of; without `request`, it is one of its own. */
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
        // One on trial has failed it, unless the request fails everywhere.
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

  /** Whether it is another request than those in a row that got an error before. */
  #rememberFault(request: unknown): boolean {
    const isNew = !this.#faults.has(request);
    this.#faults.add(request);
    const [oldest] = this.#faults;
    if (this.#faults.size > rememberedFaults) this.#faults.delete(oldest);
    return isNew;
  }
}
