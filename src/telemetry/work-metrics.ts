/** The Prometheus metrics of embedding, reranking and retrieval: how much there was, and how long it took. */
import type { Counter, Histogram } from "prom-client";
import type { FinishedWork } from "../core/ports/telemetry.ts";
import { buckets } from "./buckets.ts";
import type { Series } from "./series.ts";

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
