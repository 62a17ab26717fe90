/** Makes the series of a Prometheus page: their names begin alike, and all are in one registry. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export class Series {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  counter<Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
  ): Counter<Label> {
    return new Counter({ ...this.#named(name, help), labelNames });
  }

  gauge<Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
  ): Gauge<Label> {
    return new Gauge({ ...this.#named(name, help), labelNames });
  }

  histogram<Label extends string = never>(
    name: string,
    help: string,
    bounds: readonly number[],
    ...labelNames: readonly Label[]
  ): Histogram<Label> {
    return new Histogram({ ...this.#named(name, help), labelNames, buckets: [...bounds] });
  }

  /** A series whose number is kept elsewhere, and read at each scrape. */
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
