/** Gives long steps of different requests a turn of the event loop each, so that others are answered between them. */
export class Turns {
  #last = Promise.resolve();

  next(): Promise<void> {
    this.#last = this.#last.then(() => new Promise((resolve) => setImmediate(resolve)));
    return this.#last;
  }
}
