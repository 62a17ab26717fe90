/** An exporter that logs, once each, when its collector cannot be reached and when it is back. */
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { reasonOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";

type Done = Parameters<SpanExporter["export"]>[1];

export class DeliveryReporter implements SpanExporter {
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
