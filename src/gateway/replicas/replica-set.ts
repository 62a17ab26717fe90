/** The replicas of a model: chooses one per request, retries, probes failed ones, and updates. */
import { type Clock, systemClock } from "../../core/clock.ts";
import { NodeError, reasonOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { ReplicaEvent, ReplicaStatus } from "../../core/ports/telemetry.ts";
import { chooseMember, Placements } from "./choose-replica.ts";
import { NotBegun, type ReplicaChoice, type ReplicaLease, type Replicas } from "./replica.ts";
import { type Backoff, defaultBackoff, Member } from "./replica-circuit.ts";

export interface ReplicaSetOptions {
  model: string;
  urls: readonly string[];
  /** Checks a replica that is out. Default: none, a request tries it. */
  probe?: Probe;
  onEvent?: (event: ReplicaEvent) => void;
  log: Log;
  backoff?: Backoff;
  clock?: Clock;
  random?: () => number;
}

const mostRetries = 2;
/** The longest pause where no replica answers: nobody else could be asked meanwhile. */
const longestAloneMs = 1000;

export class ReplicaSet implements Replicas, Disposable {
  readonly #options: ReplicaSetOptions;
  readonly #clock: Clock;
  readonly #placements = new Placements();
  /** Cancels the pending or running probe of each replica that is out. */
  readonly #probes = new Map<Member, Disposable>();
  /** Replicas whose failure was logged, and whose return was not yet. */
  readonly #saidOut = new Set<Member>();
  #members: readonly Member[];
  #leases = 0;

  constructor(options: ReplicaSetOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#members = options.urls.map((url) => this.#member(url, "up"));
  }

  urls(): string[] {
    return this.#members.map(({ url }) => url);
  }

  status(): ReplicaStatus[] {
    return this.#members.map(({ url, inFlight, circuit: { state } }) => ({ url, inFlight, state }));
  }

  async attempt<Result>(
    { prefix, request, signal }: ReplicaChoice,
    attempt: (lease: ReplicaLease) => Promise<Result>,
  ): Promise<Result> {
    const tried: Member[] = [];
    let failed = 0;
    let reason: NodeError | undefined;
    for (;;) {
      signal.throwIfAborted();
      const member = chooseMember(this.#members, tried, prefix, this.#placements);
      if (member === undefined) throw reason ?? this.#unavailable();
      const before = tried.at(-1);
      if (before !== undefined) this.#tell(before, { type: "given-on", url: before.url });
      tried.push(member);
      this.#tell(member, { type: "asked", url: member.url });
      const { isSpared } = member;
      const lease = member.lease(request);
      try {
        return await attempt(lease);
      } catch (error) {
        lease[Symbol.dispose]();
        if (!(error instanceof NotBegun)) throw error;
        reason = error.reason;
        // Where all are full, a request is not asked of every one of them.
        if ((!error.isRefusal || isSpared) && ++failed > mostRetries) throw reason;
      }
    }
  }

  problem(): string | undefined {
    if (this.#members.some(({ circuit }) => !circuit.isBad)) return undefined;
    const { model } = this.#options;
    return this.#members.length === 1
      ? `The server of the model '${model}' does not answer.`
      : `None of the ${this.#members.length} servers of the model '${model}' answers.`;
  }

  /** Requests at a removed replica finish; a new one is on trial until it has answered. */
  update(urls: readonly string[]): void {
    const gone = this.#members.filter(({ url }) => !urls.includes(url));
    this.#members = urls.map(
      (url) => this.#members.find((member) => member.url === url) ?? this.#member(url, "trial"),
    );
    for (const member of gone) {
      this.#cancelProbe(member);
      this.#saidOut.delete(member);
      this.#options.onEvent?.({ type: "removed", url: member.url });
    }
  }

  /** Stops all probes; requests in progress continue. */
  [Symbol.dispose](): void {
    for (const member of this.#probes.keys()) this.#cancelProbe(member);
  }

  #member(url: string, state: "up" | "trial"): Member {
    const { backoff = defaultBackoff, random = Math.random } = this.#options;
    const { now } = this.#clock;
    return new Member(url, {
      now,
      random,
      backoff,
      state,
      nextLease: () => ++this.#leases,
      onFailed: (member, why, pauseMs) => this.#failed(member, why, pauseMs),
      onUp: (member) => this.#up(member),
    });
  }

  #failed(member: Member, why: string, pauseMs: number | undefined): void {
    this.#tell(member, { type: "failed", url: member.url, why });
    if (pauseMs === undefined || !this.#members.includes(member)) return;
    const { model, log } = this.#options;
    const isAlone = this.#members.every(({ circuit }) => circuit.isShut);
    const inMs = isAlone ? Math.min(pauseMs, longestAloneMs) : pauseMs;
    const level = this.#saidOut.has(member) ? "debug" : "warn";
    this.#saidOut.add(member);
    log[level]("a replica failed, and is left alone for a while", {
      model,
      replica: member.url,
      reason: why,
      seconds: Math.round(inMs / 100) / 10,
    });
    this.#cancelProbe(member);
    const timer = this.#clock.after(inMs, () => void this.#probe(member));
    this.#probes.set(member, timer);
  }

  #up(member: Member): void {
    if (!this.#members.includes(member)) return;
    this.#cancelProbe(member);
    this.#saidOut.delete(member);
    const { model, log } = this.#options;
    log.info("a replica answers", { model, replica: member.url });
  }

  /** Requests at a replica that was removed are not reported. */
  #tell(member: Member, event: ReplicaEvent): void {
    if (this.#members.includes(member)) this.#options.onEvent?.(event);
  }

  /** Runs when the pause is over. Without a probe, a request tries the replica. */
  async #probe(member: Member): Promise<void> {
    const { circuit, url } = member;
    const asking = new AbortController();
    using _ = this.#clock.after(timeoutMs, () =>
      asking.abort(new Error(`no answer within ${timeoutMs / 1000} s`)),
    );
    const isOver = { [Symbol.dispose]: () => asking.abort() };
    this.#probes.set(member, isOver);
    const { probe } = this.#options;
    const why = await probe?.(url, asking.signal).then(() => undefined, reasonOf);
    // Meanwhile it answered a request, or was removed.
    if (this.#probes.get(member) !== isOver) return;
    this.#probes.delete(member);
    if (why === undefined) circuit.tryAgain();
    else this.#failed(member, why, circuit.failed(circuit.outages, "probe"));
  }

  #cancelProbe(member: Member): void {
    this.#probes.get(member)?.[Symbol.dispose]();
    this.#probes.delete(member);
  }

  #unavailable(): NodeError {
    const { model } = this.#options;
    return new NodeError(
      "unavailable",
      `No server of the model '${model}' answers now. Try again in 1 s.`,
      { retryAfterMs: longestAloneMs },
    );
  }
}

/** Checks a replica, such as by its list of models; throws if the server does not work. */
export type Probe = (url: string, signal: AbortSignal) => Promise<void>;

const timeoutMs = 5000;
