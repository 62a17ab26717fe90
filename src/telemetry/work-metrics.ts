/** The Prometheus metrics of embedding, reranking and retrieval: how much there was, and how long it took. */
import type { Counter, Gauge, Histogram } from "prom-client";
import type { FinishedWork } from "../core/ports/telemetry.ts";
import { buckets, type Series } from "./series.ts";

export class WorkMetrics {
  readonly #embeddings: Counter<"model">;
  readonly #embeddingSeconds: Histogram<"model">;
  readonly #reranked: Counter<"model">;
  readonly #rerankSeconds: Histogram<"model">;
  readonly #retrievalSeconds: Histogram;
  readonly #retrievalPassages: Histogram;
  readonly #retrievalFailures: Counter;

  constructor(series: Series) {
    this.#embeddings = series.counter("embeddings_total", "Texts that were embedded.", ["model"]);
    this.#embeddingSeconds = series.histogram(
      "embedding_seconds",
      "How long the texts of a request took to embed, waiting included.",
      buckets.workSeconds,
      "model",
    );
    this.#reranked = series.counter(
      "reranked_passages_total",
      "Passages that were read with a question.",
      ["model"],
    );
    this.#rerankSeconds = series.histogram(
      "rerank_seconds",
      "How long the passages of a question took to judge, waiting included.",
      buckets.workSeconds,
      "model",
    );
    this.#retrievalSeconds = series.histogram(
      "retrieval_seconds",
      "How long a search of the collection took, failed ones included.",
      buckets.workSeconds,
    );
    this.#retrievalPassages = series.histogram(
      "retrieval_passages",
      "How many passages a search found.",
      buckets.passages,
    );
    this.#retrievalFailures = series.counter(
      "retrieval_failures_total",
      "Searches of the collection that failed.",
    );
  }

  /** Every series exists from the start at 0, so that `rate()` sees its first increase. */
  begin(model: string, type: "embedding" | "reranker"): void {
    const counter = type === "embedding" ? this.#embeddings : this.#reranked;
    counter.inc({ model }, 0);
  }

  worked(event: Exclude<FinishedWork, { type: "answered" }>): void {
    const seconds = (event.to - event.from) / 1000;
    switch (event.type) {
      case "embedded":
        this.#embeddings.inc({ model: event.model }, event.inputs);
        this.#embeddingSeconds.observe({ model: event.model }, seconds);
        break;
      case "reranked":
        this.#reranked.inc({ model: event.model }, event.passages);
        this.#rerankSeconds.observe({ model: event.model }, seconds);
        break;
      case "retrieved":
        this.#retrievalSeconds.observe(seconds);
        if (event.passages === undefined) this.#retrievalFailures.inc();
        else this.#retrievalPassages.observe(event.passages);
        break;
    }
  }
}

/** The Prometheus metrics of the node's processes: what memory each holds, and which were started again. */
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
