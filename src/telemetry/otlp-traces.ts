/** Requests as OpenTelemetry traces, sent over OTLP. The spans are made from a request's record when it has ended. */
import {
  type Attributes,
  type Context,
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
  type ReadableSpan,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { reasonOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { RequestRecord } from "../core/ports/telemetry.ts";
import { requestAttributes, requestName, type Step, stepsOf } from "./trace-steps.ts";

interface OtlpTracesOptions {
  /** Address of the collector; `/v1/traces` is added. */
  endpoint: string;
  version: string;
  log: Log;
  /** How long to wait for the collector, also at shutdown. Default: 2000. */
  timeoutMs?: number;
}

/** Health checks and scrapes are not traced. */
const untraced = new Set(["health", "ready", "metrics"]);

export class OtlpTraces implements AsyncDisposable {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;

  constructor({ endpoint, version, log, timeoutMs = 2000 }: OtlpTracesOptions) {
    const url = `${endpoint.replace(/\/+$/, "")}/v1/traces`;
    const exporter = new OTLPTraceExporter({ url, timeoutMillis: timeoutMs });
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ "service.name": "paddock", "service.version": version }),
      sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: new DeliveryReporter(exporter, endpoint, log),
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
  }

  #write({ name, from, to, attributes, inner }: Step, parent: Context, clock: Clock): void {
    const options: { startTime: number; attributes: Attributes } = {
      startTime: clock(from),
      attributes,
    };
    const span = this.#tracer.startSpan(name, options, parent);
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

/** The caller's trace context, where its `traceparent` is well-formed. */
function parentOf({ traceparent }: RequestRecord): Context {
  if (traceparent === undefined) return ROOT_CONTEXT;
  return propagator.extract(ROOT_CONTEXT, { traceparent }, headerGetter);
}

const headerGetter = {
  keys: (carrier: Readonly<Record<string, string>>) => Object.keys(carrier),
  get: (carrier: Readonly<Record<string, string>>, key: string) => carrier[key],
};

/** An exporter that logs, once each, when its collector cannot be reached and when it is back. */
type Done = Parameters<SpanExporter["export"]>[1];

class DeliveryReporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #endpoint: string;
  readonly #log: Log;
  #isAway = false;

  constructor(exporter: SpanExporter, endpoint: string, log: Log) {
    this.#exporter = exporter;
    this.#endpoint = endpoint;
    this.#log = log;
  }

  export(spans: ReadableSpan[], done: Done): void {
    this.#exporter.export(spans, (result) => {
      this.#note(result.error);
      done(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  async shutdown(): Promise<void> {
    await this.#exporter.shutdown();
  }

  #note(error: Error | undefined): void {
    const isAway = error !== undefined;
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    const endpoint = this.#endpoint;
    if (!isAway) this.#log.info("traces are delivered again", { endpoint });
    else {
      this.#log.warn("traces cannot be delivered; they are dropped until the collector answers", {
        endpoint,
        reason: reasonOf(error),
      });
    }
  }
}
