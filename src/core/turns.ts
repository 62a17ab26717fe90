/** Turns of the event loop: between the steps of long work, others are answered. */
import { FairQueue } from "./limits/fair-queue.ts";

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Gives long steps of different requests a turn each, their callers in turn. */
export class Turns {
  readonly #waiting = new FairQueue<() => void>(Number.POSITIVE_INFINITY);
  #isRunning = false;

  next(caller = ""): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.join(caller, resolve);
      if (!this.#isRunning) setImmediate(this.#run);
      this.#isRunning = true;
    });
  }

  readonly #run = (): void => {
    const begin = this.#waiting.next();
    this.#isRunning = begin !== undefined;
    if (begin === undefined) return;
    begin();
    setImmediate(this.#run);
  };
}

/** So much work at a time of each name, such as a caller's; the rest of it waits, first come first served. */
export class Places {
  readonly #most: number;
  readonly #names = new Map<string, { busy: number; waiting: (() => void)[] }>();

  constructor(most: number) {
    this.#most = most;
  }

  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const of = this.#names.get(name) ?? { busy: 0, waiting: [] };
    this.#names.set(name, of);
    if (of.busy < this.#most) of.busy++;
    else await new Promise<void>((resolve) => of.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = of.waiting.shift();
      // Who waits next has the place.
      if (next !== undefined) next();
      else if (--of.busy === 0) this.#names.delete(name);
    }
  }
}
