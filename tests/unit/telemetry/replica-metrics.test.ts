import { describe, expect, test } from "bun:test";
import { Registry } from "prom-client";
import type { ReplicaStatus } from "../../../src/core/ports/telemetry.ts";
import { replicaMetrics, seriesIn } from "../../../src/telemetry/series.ts";
import { parsePrometheus, sampleValue } from "../../support/prometheus-text.ts";

const url = "http://gpu-1:8000/v1";
const series = ["requests_total", "in_flight", "failures_total", "retries_total", "up"] as const;

function page() {
  const registry = new Registry();
  const metrics = replicaMetrics(seriesIn(registry));
  const text = () => {
    metrics.read();
    return registry.metrics();
  };
  const values = async (replica = "1") => {
    const families = parsePrometheus(await text());
    const labels = { model: "llama", replica };
    return series.map((name) => sampleValue(families, `paddock_upstream_${name}`, labels));
  };
  return { metrics, text, values };
}

describe("the numbers of replicas", () => {
  test("are there at 0 from the start, and follow what happens", async () => {
    const { metrics, values } = page();
    const status: ReplicaStatus = { url, state: "up", inFlight: 0 };
    using _ = metrics.watch("llama", () => [status]);
    expect(await values()).toEqual([0, 0, 0, 0, 1]);
    metrics.happened("llama", { type: "asked", url });
    metrics.happened("llama", { type: "asked", url });
    metrics.happened("llama", { type: "failed", url, why: "refused" });
    metrics.happened("llama", { type: "given-on", url });
    status.inFlight = 1;
    status.state = "trial";
    expect(await values()).toEqual([2, 1, 1, 1, 0]);
  });

  test("leave with the replica, and with the model", async () => {
    const { metrics, values } = page();
    const replicas: ReplicaStatus[] = [{ url, state: "up", inFlight: 0 }];
    const watching = metrics.watch("llama", () => replicas);
    metrics.happened("llama", { type: "asked", url });
    replicas.pop();
    metrics.happened("llama", { type: "removed", url });
    expect(await values()).toEqual(series.map(() => undefined));
    replicas.push({ url, state: "up", inFlight: 0 });
    expect(await values()).toEqual([0, 0, 0, 0, 1]);
    watching[Symbol.dispose]();
    expect((await values()).slice(-1)).toEqual([undefined]);
  });

  test("go by its number among the model's replicas, and never show an address", async () => {
    const { metrics, text, values } = page();
    const other = "http://gpu-2:8000/v1";
    const replicas = [url, other].map((url): ReplicaStatus => ({ url, state: "up", inFlight: 0 }));
    using _ = metrics.watch("llama", () => replicas);
    metrics.happened("llama", { type: "asked", url: other });
    expect([await values("1"), await values("2")]).toEqual([
      [0, 0, 0, 0, 1],
      [1, 0, 0, 0, 1],
    ]);
    expect(await text()).not.toContain("gpu-");
    replicas.shift();
    metrics.happened("llama", { type: "removed", url });
    expect(await values("1")).toEqual([1, 0, 0, 0, 1]);
    expect(await values("2")).toEqual(series.map(() => undefined));
  });
});
