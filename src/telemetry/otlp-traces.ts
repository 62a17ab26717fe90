/** Sends requests as OpenTelemetry traces over OTLP, made of each request's record at its end. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { ClientRequest } from "node:http";
import {
  type Context,
  defaultTextMapGetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { Log } from "../core/log.ts";
import type { AnswerRecord, FinishedWork, RequestRecord, Span } from "../core/ports/telemetry.ts";

interface OtlpTracesOptions {
  endpoint: string;
  version: string;
  log: Log;
  /** How long to wait for the collector, also at shutdown. Default: 2000. */
  timeoutMs?: number;
}

const untraced = new Set(["health", "ready", "metrics"]);

export class OtlpTraces implements AsyncDisposable {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #bounds: Disposable;

  constructor({ endpoint, version, log, timeoutMs = 2000 }: OtlpTracesOptions) {
    const url = `${endpoint.replace(/\/+$/, "")}/v1/traces`;
    this.#bounds = boundExports(url, timeoutMs);
    const exporter = new OTLPTraceExporter({ url, timeoutMillis: timeoutMs });
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ "service.name": "paddock", "service.version": version }),
      sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: reporting(exporter, endpoint, log),
          exportTimeoutMillis: timeoutMs,
          scheduledDelayMillis: 1000,
        }),
      ],
    });
    this.#tracer = this.#provider.getTracer("paddock", version);
  }

  requestEnded(record: RequestRecord): void {
    if (untraced.has(record.operation)) return;
    const clock = wallClock();
    const span = this.#tracer.startSpan(
      requestName(record),
      {
        kind: SpanKind.SERVER,
        startTime: clock(record.from),
        attributes: requestAttributes(record),
      },
      parentOf(record),
    );
    if ((record.brokenStatus ?? record.status) >= 500)
      span.setStatus({ code: SpanStatusCode.ERROR });
    const inside = trace.setSpan(ROOT_CONTEXT, span);
    for (const step of stepsOf(record)) this.#write(step, inside, clock);
    span.end(clock(record.to));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A failure to deliver the last traces is logged already, and must not hold up the shutdown.
    await this.#provider.shutdown().catch(() => {});
    this.#bounds[Symbol.dispose]();
  }

  #write({ name, from, to, attributes, inner }: Step, parent: Context, clock: Clock): void {
    const span = this.#tracer.startSpan(name, { startTime: clock(from), attributes }, parent);
    for (const step of inner) this.#write(step, trace.setSpan(parent, span), clock);
    span.end(clock(to));
  }
}

type Clock = (moment: number) => number;

/** Converts times of the monotonic clock (`performance.now()`) to the time of day. */
function wallClock(): Clock {
  const origin = Date.now() - performance.now();
  return (moment) => origin + moment;
}

const propagator = new W3CTraceContextPropagator();

function parentOf({ traceparent }: RequestRecord): Context {
  if (traceparent === undefined) return ROOT_CONTEXT;
  return propagator.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter);
}

/** Wraps the exporter to log, once each, when the collector is unreachable and when it is back. */
function reporting(exporter: SpanExporter, endpoint: string, log: Log): SpanExporter {
  let isAway = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const { error } = result;
        if (error !== undefined && !isAway) {
          const what = "traces cannot be delivered; they are dropped until the collector answers";
          log.warn(what, { endpoint, reason: reasonOf(error) });
        } else if (error === undefined && isAway) {
          log.info("traces are delivered again", { endpoint });
        }
        isAway = error !== undefined;
        done(result);
      }),
    forceFlush: async () => await exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}

/** Parts of an answer to an export, and responses 1xx before it: each takes time on the event loop. */
const mostParts = 256;

/** Ends what a collector draws out: the exporter bounds its silence and the bytes of its answer alone, and has no access to the request. */
function boundExports(url: string, timeoutMs: number): Disposable {
  const { host, pathname } = new URL(url);
  const bound = (message: unknown): void => {
    const { request } = Object(message);
    if (!(request instanceof ClientRequest)) return;
    if (request.getHeader("host") !== host || request.path !== pathname) return;
    const end = (why: string) => request.destroy(new Error(why));
    const late = `it gave no complete answer for ${timeoutMs / 1000} s`;
    const timer = setTimeout(() => end(late), timeoutMs).unref();
    let parts = 0;
    const take = (): void => {
      if (++parts > mostParts) end("it answers without end");
    };
    request
      .on("information", take)
      .on("response", (response) => response.on("data", take))
      .on("close", () => clearTimeout(timer));
  };
  subscribe(began, bound);
  return { [Symbol.dispose]: () => unsubscribe(began, bound) };
}

const began = "http.client.request.created";

type Attributes = Readonly<Record<string, string | number | undefined>>;

/** A span and its inner spans, with OpenTelemetry's conventions for HTTP and generative AI. */
interface Step extends Span {
  name: "queue" | "prompt" | "generation" | "retrieval" | "embedding" | "rerank";
  attributes: Attributes;
  inner: readonly Step[];
}

/** Low cardinality: contains nothing that a caller chose freely. */
function requestName(record: RequestRecord): string {
  const { operation, genAiOperation: name, method, work } = record;
  if (name === undefined) return operation === "other" ? method : operation;
  // The model that reranks inside a search is not the requested one.
  const model = work.findLast((done) => "model" in done && done.type !== "reranked");
  return model !== undefined && "model" in model ? `${name} ${model.model}` : name;
}

function requestAttributes(record: RequestRecord): Attributes {
  const { tokens, status, brokenStatus = status } = record;
  return given({
    "http.request.method": record.method,
    "url.path": record.path,
    "http.response.status_code": status,
    "error.type": brokenStatus >= 400 ? String(brokenStatus) : undefined,
    "gen_ai.provider.name": "paddock",
    "gen_ai.operation.name": record.genAiOperation,
    "gen_ai.request.model": record.model,
    "gen_ai.usage.input_tokens": tokens?.prompt,
    "gen_ai.usage.cache_read.input_tokens": tokens?.cached,
    "gen_ai.usage.output_tokens": tokens?.completion,
    "paddock.request.id": record.id,
    "paddock.key": record.caller,
    "paddock.outcome": record.outcome,
  });
}

function stepsOf({ work }: RequestRecord): Step[] {
  const isInside = ({ from, to }: Span, outer: Span): boolean =>
    from >= outer.from && to <= outer.to;
  const steps = work.flatMap(toSteps);
  const searches = steps.filter(({ name }) => name === "retrieval");
  const searching = steps.filter(({ name }) => name === "embedding" || name === "rerank");
  return [
    ...searches.map((search) => ({
      ...search,
      inner: searching.filter((step) => isInside(step, search)),
    })),
    ...searching.filter((step) => !searches.some((search) => isInside(step, search))),
    ...steps.filter((step) => !searches.includes(step) && !searching.includes(step)),
  ];
}

function toSteps(done: FinishedWork): Step[] {
  switch (done.type) {
    case "answered":
      return phasesOf(done);
    case "retrieved":
      return step("retrieval", done, {
        "error.type": done.passages === undefined ? "retrieval" : undefined,
        "paddock.passages": done.passages,
      });
    case "embedded":
      return step("embedding", done, {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.request.model": done.model,
        "gen_ai.usage.input_tokens": done.tokens,
        "paddock.inputs": done.inputs,
      });
    case "reranked":
      // The conventions have no name for this operation.
      return step("rerank", done, {
        "gen_ai.request.model": done.model,
        "gen_ai.usage.input_tokens": done.tokens,
        "paddock.passages": done.passages,
      });
  }
}

function phasesOf(answer: AnswerRecord): Step[] {
  const { calledAt, startedAt, firstTokenAt, endedAt, usage } = answer;
  const named = { "gen_ai.request.model": answer.model };
  const prompt = {
    ...named,
    "gen_ai.usage.input_tokens": usage?.promptTokens,
    "gen_ai.usage.cache_read.input_tokens": usage?.cachedTokens,
  };
  const generation = { ...named, "gen_ai.usage.output_tokens": answer.generatedTokens };
  return [
    ...step("queue", { from: calledAt, to: startedAt ?? endedAt }, named),
    ...step("prompt", { from: startedAt, to: firstTokenAt ?? endedAt }, prompt),
    ...step("generation", { from: firstTokenAt, to: endedAt }, generation),
  ];
}

const step = (
  name: Step["name"],
  { from, to }: { from: number | undefined; to: number },
  attributes: Attributes,
): Step[] =>
  from === undefined ? [] : [{ name, from, to, attributes: given(attributes), inner: [] }];
