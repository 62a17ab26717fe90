/** The node's Prometheus metrics. docs/operating.md says what each means. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { ModelType } from "../core/models/model.ts";
import type { ModelActivity } from "../core/models/model-activity.ts";
import type {
  AnswerRecord,
  MetricsPage,
  RequestRecord,
  WorkEvent,
} from "../core/ports/telemetry.ts";
import { buckets } from "./buckets.ts";
import { ReplicaMetrics } from "./replica-metrics.ts";

/** Whether a model runs on this machine, or elsewhere. */
type ModelPlace = "local" | "upstream";

/** What the gauges read at each scrape. */
export interface MetricsSources {
  models: readonly { name: string; type: ModelType; place: ModelPlace }[];
  activities: () => readonly ModelActivity[];
  build: () => { version: string; engine: string };
  isReady: () => Promise<boolean>;
  /** Files that wait to be taken in; undefined where that cannot be read. */
  documentsQueued: () => number | undefined;
  /** Of the Redis server that several nodes share; absent where there is none. */
  shared?: () => { isUp: boolean; losses: number; decidedAlone: number };
}

export class Metrics implements MetricsPage {
  readonly #sources: MetricsSources;
  readonly #registry = new Registry();
  /** Those of the replicas of models elsewhere. */
  readonly replicas = new ReplicaMetrics(this.#registry);
  readonly #memory = new Map<string, () => number | undefined>();
  readonly #requests = this.#counter("requests_total", "Requests that have ended.", [
    "operation",
    "status",
  ]);
  readonly #requestSeconds = this.#histogram(
    "request_seconds",
    "From a request's arrival to its end, streams included.",
    buckets.requestSeconds,
    "operation",
  );
  readonly #firstTokenSeconds = this.#histogram(
    "time_to_first_token_seconds",
    "From a chat request's arrival to the first token of an answer.",
    buckets.firstTokenSeconds,
    "model",
  );
  readonly #tokensPerSecond = this.#histogram(
    "tokens_per_second",
    "Speed of an answer after its first token.",
    buckets.tokensPerSecond,
    "model",
  );
  readonly #promptTokens = this.#counter("prompt_tokens_total", "Tokens that models were given.", [
    "model",
  ]);
  readonly #cachedTokens = this.#counter(
    "cached_tokens_total",
    "Those of a prompt that needed no evaluation.",
    ["model"],
  );
  readonly #generatedTokens = this.#counter(
    "generated_tokens_total",
    "Tokens of answers, as they come.",
    ["model"],
  );
  /** Those since the page was read: a counter of the library costs more than all else that is done for a token here. */
  readonly #newTokens = new Map<string, number>();
  readonly #queueLength = this.#gauge("queue_length", "Calls that wait for a model.", ["model"]);
  readonly #queueSeconds = this.#histogram(
    "queue_seconds",
    "How long a call waited for its model.",
    buckets.queueSeconds,
    "model",
  );
  readonly #slots = this.#gauge("slots", "Answers that a model can generate at the same time.", [
    "model",
  ]);
  readonly #slotsInUse = this.#gauge("slots_in_use", "Answers that it generates now.", ["model"]);
  readonly #embeddings = this.#counter("embeddings_total", "Texts that were embedded.", ["model"]);
  readonly #embeddingSeconds = this.#histogram(
    "embedding_seconds",
    "How long the texts of a request took to embed, waiting included.",
    buckets.workSeconds,
    "model",
  );
  readonly #reranked = this.#counter(
    "reranked_passages_total",
    "Passages that were read with a question.",
    ["model"],
  );
  readonly #rerankSeconds = this.#histogram(
    "rerank_seconds",
    "How long the passages of a question took to judge, waiting included.",
    buckets.workSeconds,
    "model",
  );
  readonly #retrievalSeconds = this.#histogram(
    "retrieval_seconds",
    "How long a search of the collection took, failed ones included.",
    buckets.workSeconds,
  );
  readonly #retrievalPassages = this.#histogram(
    "retrieval_passages",
    "How many passages a search found.",
    buckets.passages,
  );
  readonly #retrievalFailures = this.#counter(
    "retrieval_failures_total",
    "Searches of the collection that failed.",
  );
  readonly #restarts = this.#counter(
    "runner_restarts_total",
    "Times that a model's process ended by itself, or hung, and was started again.",
    ["model"],
  );
  readonly #hangs = this.#counter(
    "runner_hangs_total",
    "Those of the restarts where the process had left its heartbeat unanswered.",
    ["model"],
  );
  readonly #residentBytes = this.#gauge(
    "resident_memory_bytes",
    "Memory that a process of the node holds.",
    ["process"],
  );
  readonly #models = this.#gauge("model_info", "The models of the node; always 1.", [
    "model",
    "type",
    "place",
  ]);
  readonly #build = this.#gauge("build_info", "What runs; always 1.", ["version", "engine"]);
  readonly #ready = this.#gauge("ready", "1 where /ready answers 200, else 0.");

  constructor(sources: MetricsSources) {
    this.#sources = sources;
    const { shared, documentsQueued } = sources;
    this.#read(
      "documents_queued",
      "Files of vector stores that wait to be taken in, or are.",
      Gauge,
      documentsQueued,
    );
    if (shared !== undefined) {
      this.#read("shared_up", "1 where the Redis server can be used, else 0.", Gauge, () =>
        shared().isUp ? 1 : 0,
      );
      this.#read("shared_losses_total", "Times that it was lost.", Counter, () => shared().losses);
      this.#read(
        "shared_decided_alone_total",
        "Requests whose limits the node decided alone, since it was away.",
        Counter,
        () => shared().decidedAlone,
      );
    }
    // Every series exists from the start at 0, so that `rate()` sees its first increase.
    for (const { name: model, type, place } of sources.models) {
      this.#models.set({ model, type, place }, 1);
      this.#promptTokens.inc({ model }, 0);
      if (place === "local") {
        this.#restarts.inc({ model }, 0);
        this.#hangs.inc({ model }, 0);
      }
      if (type === "embedding") {
        this.#embeddings.inc({ model }, 0);
      } else if (type === "reranker") {
        this.#reranked.inc({ model }, 0);
      } else {
        this.#cachedTokens.inc({ model }, 0);
        this.#generatedTokens.inc({ model }, 0);
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
        this.#embeddings.inc({ model: event.model }, event.inputs);
        this.#promptTokens.inc({ model: event.model }, event.tokens);
        this.#embeddingSeconds.observe({ model: event.model }, (event.to - event.from) / 1000);
        break;
      case "reranked":
        this.#reranked.inc({ model: event.model }, event.passages);
        this.#promptTokens.inc({ model: event.model }, event.tokens);
        this.#rerankSeconds.observe({ model: event.model }, (event.to - event.from) / 1000);
        break;
      case "retrieved":
        this.#retrievalSeconds.observe((event.to - event.from) / 1000);
        if (event.passages === undefined) this.#retrievalFailures.inc();
        else this.#retrievalPassages.observe(event.passages);
        break;
    }
  }

  requestEnded({ operation, status, brokenStatus, from, to }: RequestRecord): void {
    this.#requests.inc({ operation, status: brokenStatus ?? status });
    this.#requestSeconds.observe({ operation }, (to - from) / 1000);
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

  #answered({ model, usage, firstTokenAt, endedAt }: AnswerRecord): void {
    if (usage === undefined) return;
    this.#promptTokens.inc({ model }, usage.promptTokens);
    this.#cachedTokens.inc({ model }, usage.cachedTokens);
    const seconds = (endedAt - (firstTokenAt ?? endedAt)) / 1000;
    const after = usage.completionTokens - 1;
    if (after > 0 && seconds > 0) this.#tokensPerSecond.observe({ model }, after / seconds);
  }

  #counter<Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
  ): Counter<Label> {
    return new Counter({ ...this.#named(name, help), labelNames });
  }

  /** A series whose number is kept elsewhere, and read at each scrape. */
  #read(
    name: string,
    help: string,
    kind: typeof Gauge | typeof Counter,
    number: () => number | undefined,
  ) {
    return new kind({
      ...this.#named(name, help),
      collect() {
        this.reset();
        const current = number();
        if (current !== undefined) this.inc(current);
        else this.remove();
      },
    });
  }

  #gauge<Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
  ): Gauge<Label> {
    return new Gauge({ ...this.#named(name, help), labelNames });
  }

  #histogram<Label extends string = never>(
    name: string,
    help: string,
    bounds: readonly number[],
    ...labelNames: readonly Label[]
  ): Histogram<Label> {
    return new Histogram({ ...this.#named(name, help), labelNames, buckets: [...bounds] });
  }

  #named(name: string, help: string) {
    return { name: `paddock_${name}`, help, registers: [this.#registry] };
  }
}
