/** A queue from the scheduler, which never waits, to a reader at its own pace, with back pressure. */

/** Unread events at which the answer is paused. */
const mostUnread = 8;

export class EventQueue<Event> {
  readonly #unread: Event[] = [];
  readonly #onRead: () => void;
  #end: { reason: unknown } | "complete" | undefined;
  #wake: () => void = () => {};

  /** `onRead` is called when a full queue has room again. */
  constructor(onRead: () => void) {
    this.#onRead = onRead;
  }

  get full(): boolean {
    return this.#unread.length >= mostUnread;
  }

  push(event: Event): void {
    this.#unread.push(event);
    this.#wake();
  }

  /** Nothing follows; what is unread is still read. */
  complete(): void {
    this.#end ??= "complete";
    this.#wake();
  }

  /** Ends the reading at once; what is unread is dropped. */
  fail(reason: unknown): void {
    if (this.#end !== "complete" || this.#unread.length > 0) this.#end = { reason };
    this.#wake();
  }

  async *read(): AsyncGenerator<Event> {
    for (;;) {
      if (typeof this.#end === "object") throw this.#end.reason;
      const wasFull = this.full;
      const event = this.#unread.shift();
      if (event !== undefined) {
        if (wasFull) this.#onRead();
        yield event;
      } else if (this.#end === "complete") {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
