/** The Prometheus metrics of the node's processes: what memory each holds, and which were started again. */
import type { Counter, Gauge } from "prom-client";
import type { Series } from "./series.ts";

export class ProcessMetrics {
  readonly #memory = new Map<string, () => number | undefined>();
  readonly #restarts: Counter<"model">;
  readonly #hangs: Counter<"model">;
  readonly #residentBytes: Gauge<"process">;

  constructor(series: Series) {
    this.#restarts = series.counter(
      "runner_restarts_total",
      "Times that a model's process ended by itself, or hung, and was started again.",
      ["model"],
    );
    this.#hangs = series.counter(
      "runner_hangs_total",
      "Those of the restarts where the process had left its heartbeat unanswered, or its steps did not end.",
      ["model"],
    );
    this.#residentBytes = series.gauge(
      "resident_memory_bytes",
      "Memory that a process of the node holds.",
      ["process"],
    );
  }

  /** Every series exists from the start at 0, so that `rate()` sees its first increase. */
  begin(model: string): void {
    this.#restarts.inc({ model }, 0);
    this.#hangs.inc({ model }, 0);
  }

  runnerRestarted(model: string, { hung }: { hung: boolean }): void {
    this.#restarts.inc({ model });
    if (hung) this.#hangs.inc({ model });
  }

  watchMemory(process: string, residentBytes: () => number | undefined): Disposable {
    this.#memory.set(process, residentBytes);
    return {
      [Symbol.dispose]: () => {
        // A model of the same name may have been loaded meanwhile.
        if (this.#memory.get(process) === residentBytes) this.#memory.delete(process);
      },
    };
  }

  /** Takes the numbers of this moment, for a page that is about to be written. */
  read(): void {
    this.#residentBytes.reset();
    for (const [process, residentBytes] of this.#memory) {
      const bytes = residentBytes();
      if (bytes !== undefined) this.#residentBytes.set({ process }, bytes);
    }
  }
}
