/** One request from its arrival to its real end: the end of a stream is the end of its request. */
import type { Log } from "../core/log.ts";
import type {
  FinishedWork,
  Outcome,
  Report,
  RequestRecord,
  Telemetry,
} from "../core/ports/telemetry.ts";
import { requestFields } from "./middleware/access-log.ts";
import type { Access } from "./middleware/authentication.ts";
import { operationOf } from "./operation-name.ts";
import { usedTokens } from "./used-tokens.ts";

/** The status that proxies log for a request whose client went away. */
export const clientGone = 499;

/** The status that a stream counts as whose client was there and did not read. */
export const clientStalled = 408;

/** What a caller writes in place of a name need not be one. */
const longestName = 128;

/** Who hears of what is done for requests, and of their ends. */
export interface ExchangeWitnesses {
  telemetry: Pick<Telemetry, "worked" | "requestEnded">;
  log: Log;
}

class Exchange {
  /** Who asks, as a name that is no secret. */
  caller: string | undefined;
  /** The model that is asked, as the request names it. */
  model: string | undefined;
  /** Taken at once: a request whose answer is sent may be gone. */
  readonly #asked: Pick<RequestRecord, "id" | "method" | "path" | "traceparent">;
  readonly #telemetry: Pick<Telemetry, "worked">;
  readonly #from = performance.now();
  readonly #work: FinishedWork[] = [];
  readonly #ended = Promise.withResolvers<RequestRecord>();
  #status = 200;
  #brokenStatus: number | undefined;
  #isStream = false;
  #queueMs: { chat?: number; embedding?: number } = {};
  #firstTokenMs: number | undefined;

  constructor(request: Request, id: string, telemetry: Pick<Telemetry, "worked">) {
    const { method, url, headers } = request;
    this.#asked = {
      id,
      method,
      path: new URL(url).pathname,
      traceparent: headers.get("traceparent") ?? undefined,
    };
    this.#telemetry = telemetry;
  }

  /** Settles when the request has ended, with all that is known of it; it never fails. */
  get ended(): Promise<RequestRecord> {
    return this.#ended.promise;
  }

  /** Hears what is done for the request. */
  readonly report: Report = (event) => {
    const since = performance.now() - this.#from;
    switch (event.type) {
      case "started":
        this.#queueMs[event.modelType] ??= event.waitedMs;
        break;
      case "first-token":
        this.#firstTokenMs ??= since;
        break;
      case "answered":
      case "embedded":
      case "retrieved":
        this.#work.push(event);
        break;
      case "tokens":
        break;
    }
    this.#telemetry.worked(event, since);
  };

  /** Whether its chat model has begun with it. */
  get hasStarted(): boolean {
    return this.#queueMs.chat !== undefined;
  }

  /** Says that the answer is a stream, which ends later than its headers are sent. */
  streams(answer: Response): Response {
    this.#isStream = true;
    return answer;
  }

  /** Says that a stream that had begun broke off, with the status that it would have had. */
  broke(status: number): void {
    this.#brokenStatus ??= status;
  }

  /** The headers are sent, and with them the answer, unless it is a stream. */
  responded(status: number): void {
    this.#status = status;
    if (!this.#isStream) this.#end();
  }

  /** The stream has ended, whole or not; says nothing of an answer that never became one. */
  streamEnded(): void {
    if (this.#isStream) this.#end();
  }

  /** How long what is known by now took, as a `Server-Timing` header; empty where nothing is. */
  serverTiming(): string {
    const times = {
      queue: this.#waitedMs,
      retrieval: this.#retrievalMs,
      first: this.#firstTokenMs,
      total: this.#isStream ? undefined : performance.now() - this.#from,
    };
    return Object.entries(times)
      .flatMap(([name, ms]) => (ms === undefined ? [] : [`${name};dur=${ms.toFixed(1)}`]))
      .join(", ");
  }

  /** A chat's wait is that for its own model; the wait inside its retrieval is part of that. */
  get #waitedMs(): number | undefined {
    return this.#queueMs.chat ?? this.#queueMs.embedding;
  }

  get #retrievalMs(): number | undefined {
    const retrieved = this.#work.find(({ type }) => type === "retrieved");
    return retrieved?.type === "retrieved" ? retrieved.to - retrieved.from : undefined;
  }

  get #outcome(): Outcome {
    const status = this.#brokenStatus ?? this.#status;
    if (status === clientGone) return "client left";
    if (this.#brokenStatus === clientStalled) return "client stalled";
    return status < 400 ? "ok" : "error";
  }

  #end(): void {
    this.#ended.resolve({
      ...this.#asked,
      caller: this.caller,
      operation: operationOf(this.#asked.path),
      model: this.model?.slice(0, longestName),
      status: this.#status,
      outcome: this.#outcome,
      brokenStatus: this.#brokenStatus,
      tokens: usedTokens(this.#work),
      queueMs: this.#waitedMs,
      firstTokenMs: this.#firstTokenMs,
      retrievalMs: this.#retrievalMs,
      work: this.#work,
      from: this.#from,
      to: performance.now(),
    });
  }
}

const exchanges = new WeakMap<Request, Exchange>();

/** Begins the exchange of a request that has just come in; its end is written down. */
export function openExchange(
  request: Request,
  id: string,
  { telemetry, log }: ExchangeWitnesses,
): Exchange {
  const exchange = new Exchange(request, id, telemetry);
  exchanges.set(request, exchange);
  void exchange.ended.then((record) => {
    log.info("request", requestFields(record));
    telemetry.requestEnded(record);
  });
  return exchange;
}

export function exchangeOf(request: Request): Exchange {
  const exchange = exchanges.get(request);
  if (exchange === undefined) throw new Error("A request is answered that never came in");
  return exchange;
}

/** Access that notes who the caller is. */
export function notingCaller(access: Access): Access {
  return {
    wantsKeys: () => access.wantsKeys(),
    check(request, ...wanted) {
      const caller = access.check(request, ...wanted);
      exchangeOf(request).caller = caller.name;
      return caller;
    },
  };
}
