/** The node's Prometheus metrics. docs/operating.md says what each means. */
import { Counter, Gauge, Registry } from "prom-client";
import type { ModelType } from "../core/models/model.ts";
import type { ModelActivity } from "../core/models/model-activity.ts";
import type {
  AnswerRecord,
  MetricsPage,
  RequestRecord,
  WorkEvent,
} from "../core/ports/telemetry.ts";
import { ReplicaMetrics } from "./replica-metrics.ts";
import { buckets, Series } from "./series.ts";
import { ProcessMetrics, WorkMetrics } from "./work-metrics.ts";

/** Whether a model runs on this machine, or on an upstream server. */
type ModelPlace = "local" | "upstream";

/** What the gauges read at each scrape. */
export interface MetricsSources {
  models: readonly { name: string; type: ModelType; place: ModelPlace }[];
  activities: () => readonly ModelActivity[];
  build: () => { version: string; engine: string };
  isReady: () => Promise<boolean>;
  /** Files that wait to be ingested; undefined where that cannot be read. */
  documentsQueued: () => Promise<number | undefined>;
  /** Of the Redis server that several nodes share; absent where there is none. */
  shared?: () => SharedStatus;
}

export class Metrics implements MetricsPage {
  readonly #sources: MetricsSources;
  readonly #registry = new Registry();
  readonly #series = new Series(this.#registry);
  /** Those of the replicas of upstream models. */
  readonly replicas = new ReplicaMetrics(this.#registry);
  readonly #requests = this.#series.counter("requests_total", "Requests that have ended.", [
    "operation",
    "status",
  ]);
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
    ["model"],
  );
  readonly #cachedTokens = this.#series.counter(
    "cached_tokens_total",
    "Those of a prompt that needed no evaluation.",
    ["model"],
  );
  readonly #generatedTokens = this.#series.counter(
    "generated_tokens_total",
    "Tokens of answers, as they come.",
    ["model"],
  );
  /** Those since the page was read: a counter of the library costs more than all else that is done for a token here. */
  readonly #newTokens = new Map<string, number>();
  readonly #queueLength = this.#series.gauge("queue_length", "Calls that wait for a model.", [
    "model",
  ]);
  readonly #queueSeconds = this.#series.histogram(
    "queue_seconds",
    "How long a call waited for its model.",
    buckets.queueSeconds,
    "model",
  );
  readonly #slots = this.#series.gauge(
    "slots",
    "Answers that a model can generate at the same time.",
    ["model"],
  );
  readonly #slotsInUse = this.#series.gauge("slots_in_use", "Answers that it generates now.", [
    "model",
  ]);
  readonly #work = new WorkMetrics(this.#series);
  /** Those of the processes of the node. */
  readonly processes = new ProcessMetrics(this.#series);
  readonly #models = this.#series.gauge("model_info", "The models of the node; always 1.", [
    "model",
    "type",
    "place",
  ]);
  readonly #build = this.#series.gauge("build_info", "What runs; always 1.", ["version", "engine"]);
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
      this.#promptTokens.inc({ model }, 0);
      if (place === "local") this.processes.begin(model);
      if (type === "chat") {
        this.#cachedTokens.inc({ model }, 0);
        this.#generatedTokens.inc({ model }, 0);
      } else {
        this.#work.begin(model, type);
      }
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
    this.processes.read();
    this.#build.reset();
    this.#build.set(build(), 1);
    this.#ready.set((await isReady()) ? 1 : 0);
    return await this.#registry.metrics();
  }

  worked(event: WorkEvent, sinceReceivedMs: number): void {
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
      case "reranked":
        this.#promptTokens.inc({ model: event.model }, event.tokens);
        this.#work.worked(event);
        break;
      case "retrieved":
        this.#work.worked(event);
        break;
    }
  }

  requestEnded({ operation, status, brokenStatus, from, to }: RequestRecord): void {
    this.#requests.inc({ operation, status: brokenStatus ?? status });
    this.#requestSeconds.observe({ operation }, (to - from) / 1000);
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

/** The Prometheus metrics of the Redis server that several nodes share. */
interface SharedStatus {
  isUp: boolean;
  losses: number;
  decidedAlone: number;
}

function addSharedMetrics(series: Series, shared: () => SharedStatus): void {
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
