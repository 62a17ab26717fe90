/** Creates Prometheus metrics with a common name prefix in one registry. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { unlessLate } from "../core/abort.ts";
import type { ReplicaEvent, ReplicaStatus, ReplicaTelemetry } from "../core/ports/telemetry.ts";

type Series = ReturnType<typeof seriesIn>;

export function seriesIn(registry: Registry) {
  const named = (name: string, help: string) => ({
    name: `paddock_${name}`,
    help,
    registers: [registry],
  });
  return {
    counter: <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter<Label>({ ...named(name, help), labelNames }),
    gauge: <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
      new Gauge<Label>({ ...named(name, help), labelNames }),
    histogram: <Label extends string = never>(
      name: keyof typeof buckets,
      help: string,
      ...labelNames: Label[]
    ) => new Histogram<Label>({ ...named(name, help), labelNames, buckets: [...buckets[name]] }),
    /** A metric whose value is read at each scrape; absent if that takes too long. */
    read(
      name: string,
      help: string,
      kind: typeof Gauge | typeof Counter,
      number: () => number | undefined | Promise<number | undefined>,
    ): void {
      new kind({
        ...named(name, help),
        async collect() {
          const current = await unlessLate(number(), undefined);
          this.reset();
          if (current !== undefined) this.inc(current);
          else this.remove();
        },
      });
    },
  };
}

const workSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Histogram buckets: from a cache hit on a fast machine to a long answer on a slow one. */
const buckets = {
  request_seconds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
  time_to_first_token_seconds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
  queue_seconds: [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  embedding_seconds: workSeconds,
  rerank_seconds: workSeconds,
  retrieval_seconds: workSeconds,
  tokens_per_second: [1, 2, 5, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000],
  retrieval_passages: [0, 1, 2, 3, 5, 10, 20, 50, 100],
};

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

/** Upstream models: load and health of each replica; `read` updates the gauges before a scrape. */
export function replicaMetrics(series: Series): ReplicaTelemetry & { read(): void } {
  const counter = (name: string, help: string) => series.counter(name, help, "model", "replica");
  const gauge = (name: string, help: string) => series.gauge(name, help, "model", "replica");
  const asked = counter(
    "upstream_requests_total",
    "Requests that were given to a replica, retries included.",
  );
  const inFlight = gauge("upstream_in_flight", "Requests that are with it now.");
  const failures = counter(
    "upstream_failures_total",
    "Requests that failed there, and questions left unanswered.",
  );
  const retries = counter(
    "upstream_retries_total",
    "Requests that it had not begun and another was given.",
  );
  const up = gauge("upstream_up", "1 where it takes its share, 0 while it is left alone.");
  const counters = { asked, failed: failures, "given-on": retries };
  const counts = new Map<string, number>();
  const keyOf = (...of: string[]): string => JSON.stringify(of);
  const watched = new Watched<() => readonly ReplicaStatus[]>();
  return {
    happened(model: string, { type, url }: ReplicaEvent): void {
      const key = keyOf(model, url, type);
      if (type !== "removed") counts.set(key, (counts.get(key) ?? 0) + 1);
      else for (const type of Object.keys(counters)) counts.delete(keyOf(model, url, type));
    },
    watch: (model, status) => watched.watch(model, status),
    read() {
      for (const each of [inFlight, up, asked, failures, retries]) each.reset();
      for (const [model, status] of watched) {
        for (const [at, { url, inFlight: count, state }] of status().entries()) {
          // Not by its address: every key, and with `[metrics] open` everyone, reads the metrics.
          const labels = { model, replica: String(at + 1) };
          inFlight.set(labels, count);
          up.set(labels, state === "up" ? 1 : 0);
          for (const [type, counter] of Object.entries(counters)) {
            counter.inc(labels, counts.get(keyOf(model, url, type)) ?? 0);
          }
        }
      }
    },
  };
}
