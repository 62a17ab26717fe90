/** Creates Prometheus metrics with a common name prefix in one registry. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export class Series {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  counter<Label extends string = never>(name: string, help: string, ...labelNames: Label[]) {
    return new Counter<Label>({ ...this.#named(name, help), labelNames });
  }

  gauge<Label extends string = never>(name: string, help: string, ...labelNames: Label[]) {
    return new Gauge<Label>({ ...this.#named(name, help), labelNames });
  }

  histogram<Label extends string = never>(
    name: string,
    help: string,
    bounds: readonly number[],
    ...labelNames: Label[]
  ) {
    return new Histogram<Label>({ ...this.#named(name, help), labelNames, buckets: [...bounds] });
  }

  /** A metric whose value is read at each scrape. */
  read(
    name: string,
    help: string,
    kind: typeof Gauge | typeof Counter,
    number: () => number | undefined | Promise<number | undefined>,
  ): void {
    new kind({
      ...this.#named(name, help),
      async collect() {
        const current = await number();
        this.reset();
        if (current !== undefined) this.inc(current);
        else this.remove();
      },
    });
  }

  #named(name: string, help: string) {
    return { name: `paddock_${name}`, help, registers: [this.#registry] };
  }
}

/** Histogram buckets: from a cache hit on a fast machine to a long answer on a slow one. */
export const buckets = {
  requestSeconds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
  firstTokenSeconds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
  queueSeconds: [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  workSeconds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  tokensPerSecond: [1, 2, 5, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000],
  passages: [0, 1, 2, 3, 5, 10, 20, 50, 100],
} as const;

/** Values by name. An entry lasts until it is disposed, or replaced under the same name. */
export class Watched<Value> extends Map<string, Value> {
  watch(name: string, value: Value): Disposable {
    this.set(name, value);
    return {
      [Symbol.dispose]: () => {
        if (this.get(name) === value) this.delete(name);
      },
    };
  }
}
