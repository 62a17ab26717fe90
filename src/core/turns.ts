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
