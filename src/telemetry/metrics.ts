/** The node's Prometheus metrics. docs/operating.md says what each means. */
import { Counter, Gauge, Registry } from "prom-client";
import type { ModelType } from "../core/models/model.ts";
import type { ModelActivity } from "../core/models/model-activity.ts";
import type {
  AnswerRecord,
  MetricsPage,
  RequestRecord,
  Telemetry,
  WorkEvent,
} from "../core/ports/telemetry.ts";
import { replicaMetrics } from "./replica-metrics.ts";
import { buckets, Series, Watched } from "./series.ts";

/** Whether a model runs on this machine, or on an upstream server. */
type ModelPlace = "local" | "upstream";

/** What the gauges read at each scrape. */
export interface MetricsSources {
  models: readonly { name: string; type: ModelType; place: ModelPlace }[];
  activities: () => readonly ModelActivity[];
  build: () => { version: string; engine: string };
  isReady: () => Promise<boolean>;
  /** Files that wait to be ingested; undefined if that cannot be read. */
  documentsQueued: () => Promise<number | undefined>;
  /** State of the shared Redis server; absent if there is none. */
  shared?: () => { isUp: boolean; losses: number; decidedAlone: number };
}

export type RequestWatcher = Pick<Telemetry, "requestEnded">;

export class Metrics implements MetricsPage, Telemetry {
  readonly #sources: MetricsSources;
  readonly #registry = new Registry();
  readonly #series = new Series(this.#registry);
  readonly replicas = replicaMetrics(this.#series);
  /** Other listeners for ended requests: traces, if configured. */
  readonly watchers: RequestWatcher[] = [];
  readonly #requests = this.#series.counter(
    "requests_total",
    "Requests that have ended.",
    "operation",
    "status",
  );
  readonly #requestSeconds = this.#series.histogram(
    "request_seconds",
    "From a request's arrival to its end, streams included.",
    buckets.requestSeconds,
    "operation",
  );
  readonly #firstTokenSeconds = this.#series.histogram(
    "time_to_first_token_seconds",
    "From a chat request's arrival to the first token of an answer.",
    buckets.firstTokenSeconds,
    "model",
  );
  readonly #tokensPerSecond = this.#series.histogram(
    "tokens_per_second",
    "Speed of an answer after its first token.",
    buckets.tokensPerSecond,
    "model",
  );
  readonly #promptTokens = this.#series.counter(
    "prompt_tokens_total",
    "Tokens that models were given.",
    "model",
  );
  readonly #cachedTokens = this.#series.counter(
    "cached_tokens_total",
    "Those of a prompt that needed no evaluation.",
    "model",
  );
  readonly #generatedTokens = this.#series.counter(
    "generated_tokens_total",
    "Tokens of answers, as they come.",
    "model",
  );
  /** Tokens since the last scrape: the library's counters are too slow to call for every token. */
  readonly #newTokens = new Map<string, number>();
  readonly #queueLength = this.#series.gauge(
    "queue_length",
    "Calls that wait for a model.",
    "model",
  );
  readonly #queueSeconds = this.#series.histogram(
    "queue_seconds",
    "How long a call waited for its model.",
    buckets.queueSeconds,
    "model",
  );
  readonly #slots = this.#series.gauge(
    "slots",
    "Answers that a model can generate at the same time.",
    "model",
  );
  readonly #slotsInUse = this.#series.gauge(
    "slots_in_use",
    "Answers that it generates now.",
    "model",
  );
  readonly #embeddings = this.#series.counter(
    "embeddings_total",
    "Texts that were embedded.",
    "model",
  );
  readonly #embeddingSeconds = this.#series.histogram(
    "embedding_seconds",
    "How long the texts of a request took to embed, waiting included.",
    buckets.workSeconds,
    "model",
  );
  readonly #reranked = this.#series.counter(
    "reranked_passages_total",
    "Passages that were read with a question.",
    "model",
  );
  readonly #rerankSeconds = this.#series.histogram(
    "rerank_seconds",
    "How long the passages of a question took to judge, waiting included.",
    buckets.workSeconds,
    "model",
  );
  readonly #retrievalSeconds = this.#series.histogram(
    "retrieval_seconds",
    "How long a search of the collection took, failed ones included.",
    buckets.workSeconds,
  );
  readonly #retrievalPassages = this.#series.histogram(
    "retrieval_passages",
    "How many passages a search found.",
    buckets.passages,
  );
  readonly #retrievalFailures = this.#series.counter(
    "retrieval_failures_total",
    "Searches of the collection that failed.",
  );
  readonly #restarts = this.#series.counter(
    "runner_restarts_total",
    "Times that a model's process ended by itself, or hung, and was started again.",
    "model",
  );
  readonly #hangs = this.#series.counter(
    "runner_hangs_total",
    "Those of the restarts where the process had left its heartbeat unanswered, or its steps did not end.",
    "model",
  );
  readonly #residentBytes = this.#series.gauge(
    "resident_memory_bytes",
    "Memory that a process of the node holds.",
    "process",
  );
  readonly #memory = new Watched<() => number | undefined>();
  readonly #models = this.#series.gauge(
    "model_info",
    "The models of the node; always 1.",
    "model",
    "type",
    "place",
  );
  readonly #build = this.#series.gauge("build_info", "What runs; always 1.", "version", "engine");
  readonly #ready = this.#series.gauge("ready", "1 where /ready answers 200, else 0.");

  constructor(sources: MetricsSources) {
    this.#sources = sources;
    const { shared, documentsQueued } = sources;
    this.#series.read(
      "documents_queued",
      "Files of vector stores that wait to be ingested, or are.",
      Gauge,
      documentsQueued,
    );
    if (shared !== undefined) addSharedMetrics(this.#series, shared);
    // Every series exists from the start at 0, so that `rate()` sees its first increase.
    for (const { name: model, type, place } of sources.models) {
      this.#models.set({ model, type, place }, 1);
      const ofProcess = place === "local" ? [this.#restarts, this.#hangs] : [];
      const ofType = {
        chat: [this.#cachedTokens, this.#generatedTokens],
        embedding: [this.#embeddings],
        reranker: [this.#reranked],
      }[type];
      for (const counter of [this.#promptTokens, ...ofProcess, ...ofType])
        counter.inc({ model }, 0);
    }
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async text(): Promise<string> {
    const { activities, build, isReady } = this.#sources;
    for (const { bounds, waiting, inUse } of activities()) {
      const { name: model, slots } = bounds;
      this.#queueLength.set({ model }, waiting);
      if (slots === undefined) continue;
      this.#slots.set({ model }, slots);
      this.#slotsInUse.set({ model }, inUse);
    }
    for (const [model, count] of this.#newTokens) this.#generatedTokens.inc({ model }, count);
    this.#newTokens.clear();
    this.replicas.read();
    this.#residentBytes.reset();
    for (const [process, residentBytes] of this.#memory) {
      const bytes = residentBytes();
      if (bytes !== undefined) this.#residentBytes.set({ process }, bytes);
    }
    this.#build.reset();
    this.#build.set(build(), 1);
    this.#ready.set((await isReady()) ? 1 : 0);
    return await this.#registry.metrics();
  }

  worked(event: WorkEvent, sinceReceivedMs: number): void {
    const seconds = "from" in event ? (event.to - event.from) / 1000 : 0;
    switch (event.type) {
      case "started":
        this.#queueSeconds.observe({ model: event.model }, event.waitedMs / 1000);
        break;
      case "first-token":
        this.#firstTokenSeconds.observe({ model: event.model }, sinceReceivedMs / 1000);
        break;
      case "tokens":
        this.#newTokens.set(event.model, (this.#newTokens.get(event.model) ?? 0) + event.count);
        break;
      case "answered":
        this.#answered(event);
        break;
      case "embedded":
        this.#promptTokens.inc({ model: event.model }, event.tokens);
        this.#embeddings.inc({ model: event.model }, event.inputs);
        this.#embeddingSeconds.observe({ model: event.model }, seconds);
        break;
      case "reranked":
        this.#promptTokens.inc({ model: event.model }, event.tokens);
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

  requestEnded(record: RequestRecord): void {
    const { operation, status, brokenStatus, from, to } = record;
    this.#requests.inc({ operation, status: brokenStatus ?? status });
    this.#requestSeconds.observe({ operation }, (to - from) / 1000);
    for (const watcher of this.watchers) watcher.requestEnded(record);
  }

  runnerRestarted(model: string, { hung }: { hung: boolean }): void {
    this.#restarts.inc({ model });
    if (hung) this.#hangs.inc({ model });
  }

  watchMemory(process: string, residentBytes: () => number | undefined): Disposable {
    return this.#memory.watch(process, residentBytes);
  }

  #answered({ model, usage, firstTokenAt, endedAt }: AnswerRecord): void {
    if (usage === undefined) return;
    this.#promptTokens.inc({ model }, usage.promptTokens);
    this.#cachedTokens.inc({ model }, usage.cachedTokens);
    const seconds = (endedAt - (firstTokenAt ?? endedAt)) / 1000;
    const after = usage.completionTokens - 1;
    if (after > 0 && seconds > 0) this.#tokensPerSecond.observe({ model }, after / seconds);
  }
}

function addSharedMetrics(series: Series, shared: NonNullable<MetricsSources["shared"]>): void {
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
