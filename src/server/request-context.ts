/** One request from its arrival to its real end: its caller, what is done for it, and until when. */
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { Scope } from "../core/limits/api-key.ts";
import type { ModelType } from "../core/models/model.ts";
import type {
  FinishedWork,
  Outcome,
  Report,
  RequestRecord,
  UsedTokens,
} from "../core/ports/telemetry.ts";
import { pathOf } from "./address.ts";
import type { Access, Caller } from "./middleware/authentication.ts";
import type { ErrorFormat } from "./middleware/errors.ts";
import type { RateLimitLease } from "./middleware/rate-limit.ts";
import type { HeaderFormat, OperationFacts } from "./operation.ts";
import { chatNames, type FieldNames } from "./wire/field-names.ts";

/** The status that proxies log for a request whose client went away. */
export const clientGone = 499;

/** The status that a stream counts as whose client was there and did not read. */
export const clientStalled = 408;

/** A model's name is whatever the caller wrote, and may be as long as a body. */
const longestName = 128;

export type ResponseHeaders = Record<string, string | number>;

/** What is asked for: an operation, or something else that has a name. */
export interface Target {
  name: string;
  operation?: OperationFacts;
  /** How errors are written where no operation is; default: as the OpenAI API has them. */
  errorFormat?: ErrorFormat;
}

interface ContextOptions {
  request: Request;
  id: string;
  target: Target;
  /** Headers of the response, whatever it becomes. */
  headers: ResponseHeaders;
  access: Access;
  logsPrompts: boolean;
  /** Hears what is done for the request, with how long ago it came. */
  onWork: (...event: [...Parameters<Report>, sinceReceivedMs: number]) => void;
}

export class RequestContext {
  readonly id: string;
  readonly headers: ResponseHeaders;
  readonly requestHeaders: Headers;
  /** Ends the work for the request: its client left, its time is up, or the node stops. */
  signal: AbortSignal;
  model: string | undefined;
  /** What the API calls the parts of the request that an error may be about. */
  fieldNames: FieldNames = chatNames;
  isAnswered = false;
  isMetered = false;
  readonly logsPrompts: boolean;
  readonly errorFormat: ErrorFormat | undefined;
  readonly headerFormat: HeaderFormat | undefined;
  /** What the prompt log says of the answer, asked for when it has ended, however it ends. */
  loggedAnswer: (() => object) | undefined;
  readonly #target: Target;
  readonly #authenticate: (scopes: readonly Scope[]) => Caller;
  readonly #onWork: ContextOptions["onWork"];
  /** Taken at once: a request whose answer is sent may be gone. */
  readonly #asked: Pick<RequestRecord, "method" | "path" | "traceparent">;
  readonly #from = performance.now();
  readonly #work: FinishedWork[] = [];
  readonly #ended = Promise.withResolvers<RequestRecord>();
  readonly #cancelled = new AbortController();
  #caller: Caller | undefined;
  #lease: RateLimitLease | undefined;
  #status = 200;
  #brokenStatus: number | undefined;
  #outlivesHandler = false;
  #queueMs: Partial<Record<ModelType, number>> = {};
  #firstTokenMs: number | undefined;

  constructor(options: ContextOptions) {
    const { request, id, target, headers, access, logsPrompts, onWork } = options;
    this.id = id;
    this.headers = headers;
    this.requestHeaders = request.headers;
    this.logsPrompts = logsPrompts;
    this.errorFormat = target.errorFormat ?? target.operation?.errorFormat;
    this.headerFormat = target.operation?.headerFormat;
    this.signal = request.signal;
    this.#target = target;
    this.#authenticate = (scopes) => access.check(request, ...scopes);
    this.#onWork = onWork;
    this.#asked = {
      method: request.method,
      path: pathOf(request),
      traceparent: request.headers.get("traceparent") ?? undefined,
    };
  }

  /** Refuses a caller without a key for what is asked, and remembers who it is. */
  authenticate(...scopes: readonly Scope[]): Caller {
    this.#caller = this.#authenticate(scopes);
    return this.#caller;
  }

  get authenticated(): Caller {
    if (this.#caller === undefined) throw new NodeError("internal", "Nobody was authenticated.");
    return this.#caller;
  }

  /** Whether the caller is nobody that the node knows; without keys there are no strangers. */
  get isStranger(): boolean {
    return this.#caller === undefined;
  }

  get lease(): RateLimitLease {
    if (this.#lease === undefined) {
      throw new NodeError("internal", "The operation is not rate limited.");
    }
    return this.#lease;
  }

  set lease(lease: RateLimitLease) {
    this.#lease = lease;
  }

  /** Has the work for the request end with these signals too, or when it is cancelled. */
  endWith(...signals: readonly AbortSignal[]): void {
    this.signal = AbortSignal.any([this.signal, this.#cancelled.signal, ...signals]);
  }

  /** Has the work continue in the background, and end with this signal alone: the caller may leave. */
  continueWith(signal: AbortSignal): void {
    this.signal = signal;
  }

  /** Ends the work for a request whose answer nobody takes. */
  cancel(reason: unknown): void {
    this.#cancelled.abort(reason);
  }

  get work(): readonly FinishedWork[] {
    return this.#work;
  }

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
      case "reranked":
      case "retrieved":
        this.#work.push(event);
        break;
      case "tokens":
        break;
    }
    this.#onWork(event, since);
  };

  /** Settles when the request has ended, with all that is known of it; it never fails. */
  get ended(): Promise<RequestRecord> {
    return this.#ended.promise;
  }

  /** Says that the work goes on when the handler has answered: a stream, or what continues in the background. */
  outlivesHandler(): void {
    this.#outlivesHandler = true;
  }

  /** Says that a stream that had begun broke off, with the status that it would have had. */
  broke(status: number): void {
    this.#brokenStatus ??= status;
  }

  /** The headers are sent, and with them the request has ended, unless work for it goes on. */
  responded(status: number): void {
    this.#status = status;
    if (!this.#outlivesHandler) this.#end();
  }

  /** What went on has ended, whole or not; says nothing of a request that ended with its handler. */
  workEnded(): void {
    if (this.#outlivesHandler) this.#end();
  }

  /** How long what is known by now took, as a `Server-Timing` header; empty where nothing is. */
  serverTiming(): string {
    const times = {
      queue: this.#waitedMs,
      retrieval: this.#retrievalMs,
      first: this.#firstTokenMs,
      total: this.#outlivesHandler ? undefined : performance.now() - this.#from,
    };
    return Object.entries(times)
      .flatMap(([name, ms]) => (ms === undefined ? [] : [`${name};dur=${ms.toFixed(1)}`]))
      .join(", ");
  }

  /** A chat's wait is that for its own model; the wait inside its retrieval is part of that. */
  get #waitedMs(): number | undefined {
    return this.#queueMs.chat ?? this.#queueMs.embedding ?? this.#queueMs.reranker;
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
      id: this.id,
      ...this.#asked,
      caller: this.#caller?.name,
      operation: this.#target.name,
      genAiOperation: this.#target.operation?.genAiName,
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

const contexts = new WeakMap<Request, RequestContext>();

export function openContext(options: ContextOptions): RequestContext {
  const context = new RequestContext(options);
  contexts.set(options.request, context);
  return context;
}

export function contextOf(request: Request): RequestContext {
  const context = contexts.get(request);
  if (context === undefined) throw new Error("A request is answered that never came in");
  return context;
}

/** What all the work for one request used, as its answer counts it; undefined where no model worked. */
export function usedTokens(work: readonly FinishedWork[]): UsedTokens | undefined {
  const answers = work.filter((done) => done.type === "answered");
  if (answers.length > 0) {
    // Of several answers to one prompt the prompt counts once; what one had to evaluate was not cached.
    const prompts = [...Map.groupBy(answers, ({ prompt }) => prompt).values()];
    const prompt = sumOf(prompts, (of) => of.flatMap(({ promptTokens }) => promptTokens ?? [])[0]);
    const cached = sumOf(prompts, (of) => {
      const usages = of.flatMap(({ usage }) => usage ?? []);
      return usages.length === 0
        ? undefined
        : Math.min(...usages.map(({ cachedTokens }) => cachedTokens));
    });
    return {
      ...given({ prompt, cached }),
      completion: answers.reduce((sum, { generatedTokens }) => sum + generatedTokens, 0),
    };
  }
  const embedded = work.filter((done) => done.type === "embedded");
  // What a search reads of the node's own passages is not the caller's: its question was embedded.
  const read = embedded.length > 0 ? embedded : work.filter((done) => done.type === "reranked");
  if (read.length === 0) return undefined;
  return { prompt: read.reduce((sum, { tokens }) => sum + tokens, 0), completion: 0 };
}

/** Undefined where nothing is known of any. */
function sumOf<Item>(
  items: readonly Item[],
  of: (item: Item) => number | undefined,
): number | undefined {
  const known = items.flatMap((item) => of(item) ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}
