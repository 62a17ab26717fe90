/** The node's Prometheus metrics. docs/operating.md says what each means. */
import { Counter, Gauge, Registry } from "prom-client";
import { unlessLate } from "../core/abort.ts";
import type { ModelType } from "../core/models/model.ts";
import type { ModelActivity } from "../core/models/model-activity.ts";
import type {
  AnswerRecord,
  MetricsPage,
  ReplicaTelemetry,
  Telemetry,
} from "../core/ports/telemetry.ts";
import { replicaMetrics, seriesIn, Watched } from "./series.ts";

type ModelPlace = "local" | "upstream";

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

export interface Metrics extends MetricsPage, Telemetry {
  readonly replicas: ReplicaTelemetry;
  /** Other listeners for ended requests: traces, if configured. */
  readonly watchers: RequestWatcher[];
  /** For a model that the node has from now on, until the result is disposed of. */
  addModel(model: MetricsSources["models"][number]): Disposable;
}

export function createMetrics(sources: MetricsSources): Metrics {
  const registry = new Registry();
  const series = seriesIn(registry);
  const { counter, gauge, histogram, read } = series;
  const replicas = replicaMetrics(series);
  const watchers: RequestWatcher[] = [];
  const requests = counter("requests_total", "Requests that have ended.", "operation", "status");
  const requestSeconds = histogram(
    "request_seconds",
    "From a request's arrival to its end, streams included.",
    "operation",
  );
  const firstTokenSeconds = histogram(
    "time_to_first_token_seconds",
    "From a chat request's arrival to the first token of an answer.",
    "model",
  );
  const tokensPerSecond = histogram(
    "tokens_per_second",
    "Speed of an answer after its first token.",
    "model",
  );
  const promptTokens = counter("prompt_tokens_total", "Tokens that models were given.", "model");
  const cachedTokens = counter(
    "cached_tokens_total",
    "Those of a prompt that needed no evaluation.",
    "model",
  );
  const generatedTokens = counter(
    "generated_tokens_total",
    "Tokens of answers, as they come.",
    "model",
  );
  const queueLength = gauge("queue_length", "Calls that wait for a model.", "model");
  const queueSeconds = histogram("queue_seconds", "How long a call waited for its model.", "model");
  const slotCount = gauge("slots", "Answers that a model can generate at the same time.", "model");
  const slotsInUse = gauge("slots_in_use", "Answers that it generates now.", "model");
  const embeddings = counter("embeddings_total", "Texts that were embedded.", "model");
  const embeddingSeconds = histogram(
    "embedding_seconds",
    "How long the texts of a request took to embed, waiting included.",
    "model",
  );
  const reranked = counter(
    "reranked_passages_total",
    "Passages that were read with a question.",
    "model",
  );
  const rerankSeconds = histogram(
    "rerank_seconds",
    "How long the passages of a question took to judge, waiting included.",
    "model",
  );
  const retrievalSeconds = histogram(
    "retrieval_seconds",
    "How long a search of the collection took, failed ones included.",
  );
  const retrievalPassages = histogram("retrieval_passages", "How many passages a search found.");
  const retrievalFailures = counter(
    "retrieval_failures_total",
    "Searches of the collection that failed.",
  );
  const restarts = counter(
    "runner_restarts_total",
    "Times that a model's process ended by itself, or hung, and was started again.",
    "model",
  );
  const hangs = counter(
    "runner_hangs_total",
    "Those of the restarts where the process had left its heartbeat unanswered, or its steps did not end.",
    "model",
  );
  const memoryBytes = gauge(
    "resident_memory_bytes",
    "Memory that a process of the node holds.",
    "process",
  );
  const models = gauge("model_info", "The models of the node; always 1.", "model", "type", "place");
  const buildInfo = gauge("build_info", "What runs; always 1.", "version", "engine");
  const ready = gauge("ready", "1 where /ready answers 200, else 0.");
  /** Tokens since the last scrape: the library's counters are too slow to call for every token. */
  const newTokens = new Map<string, number>();
  const memory = new Watched<() => number | undefined>();
  const { activities, build, isReady, documentsQueued, shared } = sources;
  read(
    "documents_queued",
    "Files of vector stores that wait to be ingested, or are.",
    Gauge,
    documentsQueued,
  );
  if (shared !== undefined) {
    read("shared_up", "1 where the Redis server can be used, else 0.", Gauge, () =>
      shared().isUp ? 1 : 0,
    );
    read("shared_losses_total", "Times that it was lost.", Counter, () => shared().losses);
    read(
      "shared_decided_alone_total",
      "Requests whose limits the node decided alone, since it was away.",
      Counter,
      () => shared().decidedAlone,
    );
  }
  // Every series exists from the start at 0, so that `rate()` sees its first increase.
  const addModel: Metrics["addModel"] = ({ name: model, type, place }) => {
    models.set({ model, type, place }, 1);
    const ofProcess = place === "local" ? [restarts, hangs] : [];
    const ofType = {
      chat: [cachedTokens, generatedTokens],
      embedding: [embeddings],
      reranker: [reranked],
    }[type];
    for (const each of [promptTokens, ...ofProcess, ...ofType]) each.inc({ model }, 0);
    return { [Symbol.dispose]: () => models.remove({ model, type, place }) };
  };
  sources.models.forEach(addModel);

  const answered = ({ model, usage, firstTokenAt, endedAt }: AnswerRecord): void => {
    if (usage === undefined) return;
    promptTokens.inc({ model }, usage.promptTokens);
    cachedTokens.inc({ model }, usage.cachedTokens);
    const seconds = (endedAt - (firstTokenAt ?? endedAt)) / 1000;
    const after = usage.completionTokens - 1;
    if (after > 0 && seconds > 0) tokensPerSecond.observe({ model }, after / seconds);
  };

  let making: Promise<string> | undefined;
  const page = async (): Promise<string> => {
    // A model that was deleted has none any more.
    for (const each of [queueLength, slotCount, slotsInUse]) each.reset();
    for (const { bounds, waiting, inUse } of activities()) {
      const { name: model, slots } = bounds;
      queueLength.set({ model }, waiting);
      if (slots === undefined) continue;
      slotCount.set({ model }, slots);
      slotsInUse.set({ model }, inUse);
    }
    for (const [model, count] of newTokens) generatedTokens.inc({ model }, count);
    newTokens.clear();
    replicas.read();
    memoryBytes.reset();
    for (const [process, residentBytes] of memory) {
      const bytes = residentBytes();
      if (bytes !== undefined) memoryBytes.set({ process }, bytes);
    }
    buildInfo.reset();
    buildInfo.set(build(), 1);
    ready.set((await unlessLate(isReady(), false)) ? 1 : 0);
    return await registry.metrics();
  };

  return {
    replicas,
    watchers,
    addModel,
    contentType: registry.contentType,
    // A page at a time: a thousand scrapes at once would each make their own.
    text: () =>
      (making ??= page().finally(() => {
        making = undefined;
      })),

    worked(event, sinceReceivedMs) {
      const seconds = "from" in event ? (event.to - event.from) / 1000 : 0;
      switch (event.type) {
        case "started":
          queueSeconds.observe({ model: event.model }, event.waitedMs / 1000);
          break;
        case "first-token":
          firstTokenSeconds.observe({ model: event.model }, sinceReceivedMs / 1000);
          break;
        case "tokens":
          newTokens.set(event.model, (newTokens.get(event.model) ?? 0) + event.count);
          break;
        case "answered":
          answered(event);
          break;
        case "embedded":
          promptTokens.inc({ model: event.model }, event.tokens);
          embeddings.inc({ model: event.model }, event.inputs);
          embeddingSeconds.observe({ model: event.model }, seconds);
          break;
        case "reranked":
          promptTokens.inc({ model: event.model }, event.tokens);
          reranked.inc({ model: event.model }, event.passages);
          rerankSeconds.observe({ model: event.model }, seconds);
          break;
        case "retrieved":
          retrievalSeconds.observe(seconds);
          if (event.passages === undefined) retrievalFailures.inc();
          else retrievalPassages.observe(event.passages);
          break;
      }
    },

    requestEnded(record) {
      const { operation, status, brokenStatus, from, to } = record;
      requests.inc({ operation, status: brokenStatus ?? status });
      requestSeconds.observe({ operation }, (to - from) / 1000);
      for (const watcher of watchers) watcher.requestEnded(record);
    },

    runnerRestarted(model, { hung }) {
      restarts.inc({ model });
      if (hung) hangs.inc({ model });
    },

    watchMemory: (process, residentBytes) => memory.watch(process, residentBytes),
  };
}
