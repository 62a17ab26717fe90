/** Prometheus metrics of upstream models: load and health of each replica. */
import type { ReplicaEvent, ReplicaStatus, ReplicaTelemetry } from "../core/ports/telemetry.ts";
import { type Series, Watched } from "./series.ts";

export interface ReplicaMetrics extends ReplicaTelemetry {
  read(): void;
}

export function replicaMetrics(series: Series): ReplicaMetrics {
  const labelNames = ["model", "replica"] as const;
  const asked = series.counter(
    "upstream_requests_total",
    "Requests that were given to a replica, retries included.",
    ...labelNames,
  );
  const inFlight = series.gauge(
    "upstream_in_flight",
    "Requests that are with it now.",
    ...labelNames,
  );
  const failures = series.counter(
    "upstream_failures_total",
    "Requests that failed there, and questions left unanswered.",
    ...labelNames,
  );
  const retries = series.counter(
    "upstream_retries_total",
    "Requests that it had not begun and another was given.",
    ...labelNames,
  );
  const up = series.gauge(
    "upstream_up",
    "1 where it takes its share, 0 while it is left alone.",
    ...labelNames,
  );
  const counters = { asked, failed: failures, "given-on": retries };
  const watched = new Watched<() => readonly ReplicaStatus[]>();
  return {
    happened(model: string, { type, url: replica }: ReplicaEvent): void {
      const labels = { model, replica };
      if (type !== "removed") counters[type].inc(labels);
      else for (const counter of Object.values(counters)) counter.remove(labels);
    },
    watch: (model, status) => watched.watch(model, status),
    read() {
      inFlight.reset();
      up.reset();
      for (const [model, status] of watched) {
        for (const { url: replica, inFlight: count, state } of status()) {
          const labels = { model, replica };
          inFlight.set(labels, count);
          up.set(labels, state === "up" ? 1 : 0);
          // Every series exists from the start at 0, so that `rate()` sees its first increase.
          for (const counter of Object.values(counters)) counter.inc(labels, 0);
        }
      }
    },
  };
}
