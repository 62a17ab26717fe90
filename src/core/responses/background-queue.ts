/** The runs in hand: some are at work, the others wait in a bounded queue, callers served round robin. */
import { NodeError } from "../errors.ts";
import type { ResponseChange } from "../ports/response-store.ts";

export interface QueueBounds {
  /** How many are made at the same time. */
  maxRunning: number;
  /** How many more wait; half of them of one caller. */
  maxQueue: number;
}

export class BackgroundQueue {
  readonly #bounds: QueueBounds;
  readonly #runs = new Map<string, BackgroundRun>();
  /** When each caller that has some had its last turn. */
  readonly #turns = new Map<string, number>();
  #turn = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  get all(): readonly BackgroundRun[] {
    return [...this.#runs.values()];
  }

  get(id: string): BackgroundRun | undefined {
    return this.#runs.get(id);
  }

  /** Refuses one for which there is no place. */
  join(run: BackgroundRun): void {
    const { maxRunning, maxQueue } = this.#bounds;
    const waiting = this.all.filter(({ state }) => state !== "running");
    const free = Math.max(0, maxRunning - (this.#runs.size - waiting.length));
    const isFull = waiting.length >= free + maxQueue;
    const isGreedy = countOf(waiting, run.caller) >= free + Math.ceil(maxQueue / 2);
    if (isFull || isGreedy) {
      throw new NodeError(
        "overloaded",
        `Too many responses${isFull ? "" : " of this caller"} wait to be made in the background. Retry when some of them are done.`,
        { param: "background" },
      );
    }
    this.#runs.set(run.id, run);
  }

  leave(run: BackgroundRun): void {
    this.#runs.delete(run.id);
    if (countOf(this.all, run.caller) === 0) this.#turns.delete(run.caller);
  }

  /** The one whose turn it is: the first of the caller whose last turn is the longest ago. */
  next(): BackgroundRun | undefined {
    const running = this.all.filter(({ state }) => state === "running");
    if (running.length >= this.#bounds.maxRunning) return undefined;
    const turnOf = ({ caller }: BackgroundRun): number => this.#turns.get(caller) ?? 0;
    const [next] = this.all
      .filter(({ state }) => state === "waiting")
      .toSorted((one, other) => turnOf(one) - turnOf(other));
    if (next !== undefined) this.#turns.set(next.caller, ++this.#turn);
    return next;
  }
}

const countOf = (runs: readonly BackgroundRun[], caller: string): number =>
  runs.reduce((sum, run) => sum + Number(run.caller === caller), 0);

/** Makes a response: what it has become, `completed`, `incomplete` or `failed`. */
export type BackgroundWork = (signal: AbortSignal) => Promise<ResponseChange>;

/** `saving`: it is being saved for the first time, and nothing else is done for it before. */
type RunState = "saving" | "waiting" | "running";

/** One response that is made in the background: its turn, its time and its end. */
export class BackgroundRun {
  readonly id: string;
  readonly caller: string;
  state: RunState = "saving";
  readonly #work: BackgroundWork;
  readonly #stop = new AbortController();
  readonly #ended = Promise.withResolvers<void>();

  constructor(id: string, caller: string, work: BackgroundWork) {
    this.id = id;
    this.caller = caller;
    this.#work = work;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  abort(reason: NodeError): void {
    this.#stop.abort(reason);
  }

  /** `timeoutMs`: how long it may take; 0: no bound. */
  async make(timeoutMs: number): Promise<ResponseChange> {
    this.signal.throwIfAborted();
    const late = new AbortController();
    const timer =
      timeoutMs === 0 ? undefined : setTimeout(() => late.abort(overdue(timeoutMs)), timeoutMs);
    try {
      return await this.#work(AbortSignal.any([this.signal, late.signal]));
    } finally {
      clearTimeout(timer);
    }
  }

  end(): void {
    this.#ended.resolve();
  }
}

const overdue = (ms: number): NodeError =>
  new NodeError(
    "timeout",
    `The response took longer than the ${ms / 1000} s that this node allows. Ask for fewer tokens, or raise limits.request_timeout.`,
  );
