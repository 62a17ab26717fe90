/** The runs in hand: some are at work, the others wait in a bounded queue, callers served round robin. */
import { NodeError } from "../errors.ts";
import type { BackgroundRun } from "./background-run.ts";

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
        `Too many responses${isFull ? "" : " of this caller"} wait to be made in the background. Ask again when some of them are done.`,
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
