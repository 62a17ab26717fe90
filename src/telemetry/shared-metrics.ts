/** The Prometheus metrics of the Redis server that several nodes share. */
import { Counter, Gauge } from "prom-client";
import type { Series } from "./series.ts";

export interface SharedStatus {
  isUp: boolean;
  losses: number;
  decidedAlone: number;
}

export function addSharedMetrics(series: Series, shared: () => SharedStatus): void {
  series.read("shared_up", "1 where the Redis server can be used, else 0.", Gauge, () =>
    shared().isUp ? 1 : 0,
  );
  series.read("shared_losses_total", "Times that it was lost.", Counter, () => shared().losses);
  series.read(
    "shared_decided_alone_total",
    "Requests whose limits the node decided alone, since it was away.",
    Counter,
    () => shared().decidedAlone,
  );
}
