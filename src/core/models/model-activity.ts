/** How busy a model is: who waits for it and who is served, counted where every call passes. */

/** A call of a model, from when it is made to its end. */
export interface Call {
  /** It left the queue; calls after the first count for nothing. */
  start(): void;
  end(): void;
}

export interface ModelBounds {
  name: string;
  /** How many calls are served at the same time; absent: not said. */
  slots?: number;
  /** How many may wait; absent: any number. */
  maxQueue?: number;
}

export class ModelActivity {
  readonly bounds: ModelBounds;
  #waiting = 0;
  #inUse = 0;

  constructor(bounds: ModelBounds) {
    this.bounds = bounds;
  }

  get waiting(): number {
    return this.#waiting;
  }

  get inUse(): number {
    return this.#inUse;
  }

  /** Why it would refuse another call; undefined where it would not. */
  get problem(): string | undefined {
    const { name, slots = Number.POSITIVE_INFINITY, maxQueue } = this.bounds;
    if (maxQueue === undefined || this.#inUse < slots || this.#waiting < maxQueue) return undefined;
    return `The queue of the model '${name}' is full: ${this.#waiting} waiting, ${this.#inUse} being answered.`;
  }

  call(): Call {
    let state: "waiting" | "in use" | "ended" = "waiting";
    this.#waiting++;
    return {
      start: () => {
        if (state !== "waiting") return;
        state = "in use";
        this.#waiting--;
        this.#inUse++;
      },
      end: () => {
        if (state === "waiting") this.#waiting--;
        if (state === "in use") this.#inUse--;
        state = "ended";
      },
    };
  }
}
