/** All observers of the node behind one port: metrics, and traces where they are configured. */
import type { RequestRecord, Telemetry, WorkEvent } from "../core/ports/telemetry.ts";
import type { Metrics } from "./metrics.ts";

/** An observer of requests that have ended. */
export type RequestWatcher = Pick<Telemetry, "requestEnded">;

export class NodeTelemetry implements Telemetry {
  readonly #metrics: Metrics;
  readonly #watchers: RequestWatcher[] = [];

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  add(watcher: RequestWatcher): void {
    this.#watchers.push(watcher);
  }

  worked(event: WorkEvent, sinceReceivedMs: number): void {
    this.#metrics.worked(event, sinceReceivedMs);
  }

  requestEnded(record: RequestRecord): void {
    for (const watcher of [this.#metrics, ...this.#watchers]) watcher.requestEnded(record);
  }

  runnerRestarted(model: string, why: { hung: boolean }): void {
    this.#metrics.processes.runnerRestarted(model, why);
  }

  watchMemory(process: string, residentBytes: () => number | undefined): Disposable {
    return this.#metrics.processes.watchMemory(process, residentBytes);
  }
}
