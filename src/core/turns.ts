/** Turns of the event loop: between the steps of long work, others are answered. */

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Gives long steps of different requests a turn each. */
export class Turns {
  #last = Promise.resolve();

  next(): Promise<void> {
    this.#last = this.#last.then(nextTurn);
    return this.#last;
  }
}
