/** The Prometheus metrics of upstream models: what each of their replicas has to do, and how it is. */
import { Counter, Gauge, type Registry } from "prom-client";
import type { ReplicaEvent, ReplicaStatus, ReplicaTelemetry } from "../core/ports/telemetry.ts";

const labelNames = ["model", "replica"] as const;

export class ReplicaMetrics implements ReplicaTelemetry {
  readonly #watched = new Map<string, () => readonly ReplicaStatus[]>();
  readonly #inFlight: Gauge<"model" | "replica">;
  readonly #up: Gauge<"model" | "replica">;
  readonly #asked: Counter<"model" | "replica">;
  readonly #failures: Counter<"model" | "replica">;
  readonly #retries: Counter<"model" | "replica">;

  constructor(registry: Registry) {
    const named = (name: string, help: string) => ({
      name: `paddock_upstream_${name}`,
      help,
      labelNames,
      registers: [registry],
    });
    this.#asked = new Counter(
      named("requests_total", "Requests that were given to a replica, retries included."),
    );
    this.#inFlight = new Gauge(named("in_flight", "Requests that are with it now."));
    this.#failures = new Counter(
      named("failures_total", "Requests that failed there, and questions left unanswered."),
    );
    this.#retries = new Counter(
      named("retries_total", "Requests that it had not begun and another was given."),
    );
    this.#up = new Gauge(named("up", "1 where it takes its share, 0 while it is left alone."));
  }

  happened(model: string, event: ReplicaEvent): void {
    const labels = { model, replica: event.url };
    switch (event.type) {
      case "asked":
        this.#asked.inc(labels);
        break;
      case "failed":
        this.#failures.inc(labels);
        break;
      case "given-on":
        this.#retries.inc(labels);
        break;
      case "removed":
        for (const counter of this.#counters) counter.remove(labels);
        break;
    }
  }

  watch(model: string, status: () => readonly ReplicaStatus[]): Disposable {
    this.#watched.set(model, status);
    return {
      [Symbol.dispose]: () => {
        // A model of the same name may have been opened meanwhile.
        if (this.#watched.get(model) === status) this.#watched.delete(model);
      },
    };
  }

  /** Takes the numbers of this moment, for a page that is about to be written. */
  read(): void {
    this.#inFlight.reset();
    this.#up.reset();
    for (const [model, status] of this.#watched) {
      for (const { url: replica, inFlight, state } of status()) {
        const labels = { model, replica };
        this.#inFlight.set(labels, inFlight);
        this.#up.set(labels, state === "up" ? 1 : 0);
        // Every series exists from the start at 0, so that `rate()` sees its first increase.
        for (const counter of this.#counters) counter.inc(labels, 0);
      }
    }
  }

  get #counters(): readonly Counter<"model" | "replica">[] {
    return [this.#asked, this.#failures, this.#retries];
  }
}
