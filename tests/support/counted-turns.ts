/** Counts the turns of the event loop until it is disposed of. */
export class CountedTurns implements Disposable {
  now = 0;
  #isOver = false;

  constructor() {
    const next = (): void => {
      this.now++;
      if (!this.#isOver) setImmediate(next);
    };
    setImmediate(next);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
  }
}
