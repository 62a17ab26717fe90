/** The context of a request until all its work has ended: its caller, lease, signal and record. */
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { Scope } from "../core/limits/api-key.ts";
import type { ModelType } from "../core/models/model.ts";
import type {
  EngineCall,
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
import type { HeldBytes } from "./middleware/read-body.ts";
import type { HeaderFormat, OperationFacts } from "./operation.ts";
import { chatNames, type FieldNames } from "./wire/field-names.ts";

/** The status that proxies log if the client disconnected. */
export const clientGone = 499;

/** The status of a stream whose client stayed connected but did not read. */
export const clientStalled = 408;

/** The caller writes the model's name, so it may be as long as a body. */
const longestName = 128;

export type ResponseHeaders = Record<string, string | number>;

/** What a request is for: an operation, or another address with a name. */
export interface Target {
  name: string;
  operation?: OperationFacts;
  /** The format of errors without an operation; default: the OpenAI API's. */
  errorFormat?: ErrorFormat;
}

interface ContextOptions {
  request: Request;
  id: string;
  target: Target;
  /** Headers of the response, whether it succeeds or fails. */
  headers: ResponseHeaders;
  access: Access;
  logsPrompts: boolean;
  /** Called with the work that is done for the request, and the time since it arrived. */
  onWork: (...event: [...Parameters<Report>, sinceReceivedMs: number]) => void;
}

const contexts = new WeakMap<Request, RequestContext>();

export class RequestContext {
  readonly id: string;
  readonly headers: ResponseHeaders;
  readonly requestHeaders: Headers;
  /** Aborts the work for the request. Background work has its own: the client may leave. */
  signal: AbortSignal;
  model: string | undefined;
  /** The API's field names for the parts of the request that an error may be about. */
  fieldNames: FieldNames = chatNames;
  isAnswered = false;
  isMetered = false;
  readonly logsPrompts: boolean;
  readonly errorFormat: ErrorFormat | undefined;
  readonly headerFormat: HeaderFormat | undefined;
  /** The answer's fields in the prompt log; called when it has ended, complete or not. */
  loggedAnswer: (() => object) | undefined;
  readonly work: FinishedWork[] = [];
  readonly #target: Target;
  readonly #authenticate: (scopes: readonly Scope[]) => Caller;
  readonly #onWork: ContextOptions["onWork"];
  /** Copied at once: the request may be gone after its answer is sent. */
  readonly #asked: Pick<RequestRecord, "method" | "path" | "traceparent">;
  readonly #from = performance.now();
  readonly #ended = Promise.withResolvers<RequestRecord>();
  /** Resolves to the request's record when it has ended; never rejects. */
  readonly ended = this.#ended.promise;
  readonly #cancelled = new AbortController();
  #caller: Caller | undefined;
  #lease: RateLimitLease | undefined;
  #held: HeldBytes | undefined;
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
    contexts.set(request, this);
    this.#asked = {
      method: request.method,
      path: pathOf(request),
      traceparent: request.headers.get("traceparent") ?? undefined,
    };
  }

  /** Rejects a caller whose key lacks the scopes; remembers the caller otherwise. */
  authenticate(...scopes: readonly Scope[]): Caller {
    this.#caller = this.#authenticate(scopes);
    return this.#caller;
  }

  /** Whether the caller may use what needs this scope. */
  opens(scope: Scope): boolean {
    try {
      this.#authenticate([scope]);
      return true;
    } catch {
      return false;
    }
  }

  get authenticated(): Caller {
    if (this.#caller !== undefined) return this.#caller;
    throw new NodeError("internal", "Nobody was authenticated.");
  }

  /** Whether the caller is unknown; on a node without keys, no caller is. */
  get isStranger(): boolean {
    return this.#caller === undefined;
  }

  get lease(): RateLimitLease {
    if (this.#lease !== undefined) return this.#lease;
    throw new NodeError("internal", "The operation is not rate limited.");
  }

  set lease(lease: RateLimitLease) {
    this.#lease = lease;
  }

  /** The memory that counts as the request's until it has ended. */
  get held(): HeldBytes {
    if (this.#held !== undefined) return this.#held;
    throw new NodeError("internal", "The request's memory is not counted.");
  }

  set held(held: HeldBytes) {
    this.#held = held;
  }

  /** Ends the work on these signals too, and when it is cancelled. */
  endWith(...signals: readonly AbortSignal[]): void {
    this.signal = AbortSignal.any([this.signal, this.#cancelled.signal, ...signals]);
  }

  /** Ends the work for a request whose answer nobody reads. */
  cancel(reason: unknown): void {
    this.#cancelled.abort(reason);
  }

  /** Options of a call of an engine for this request. */
  get engineCall(): EngineCall {
    return { signal: this.signal, report: this.report, caller: this.lease.caller };
  }

  readonly report: Report = (event) => {
    const since = performance.now() - this.#from;
    if (event.type === "started") this.#queueMs[event.modelType] ??= event.waitedMs;
    else if (event.type === "first-token") this.#firstTokenMs ??= since;
    else if (event.type !== "tokens") this.work.push(event);
    this.#onWork(event, since);
  };

  /** Marks work that continues after the handler returns: a stream, or a background answer. */
  outlivesHandler(): void {
    this.#outlivesHandler = true;
  }

  /** Marks a started stream as broken off, with the status that it would have had. */
  broke(status: number): void {
    this.#brokenStatus ??= status;
  }

  /** Called when the headers are sent. The request ends here, unless its work goes on. */
  responded(status: number): void {
    this.#status = status;
    if (!this.#outlivesHandler) this.#end();
  }

  /** Ends a request that outlived its handler, complete or not; otherwise does nothing. */
  workEnded(): void {
    if (this.#outlivesHandler) this.#end();
  }

  /** The times known so far, in milliseconds; `first` and `total` since the request arrived. */
  get times() {
    return {
      queue: this.#waitedMs,
      retrieval: this.#retrievalMs,
      first: this.#firstTokenMs,
      total: performance.now() - this.#from,
    };
  }

  /** The times known so far, as a `Server-Timing` header; empty if there are none. */
  serverTiming(): string {
    const { total, ...times } = this.times;
    return Object.entries({ ...times, total: this.#outlivesHandler ? undefined : total })
      .flatMap(([name, ms]) => (ms === undefined ? [] : [`${name};dur=${ms.toFixed(1)}`]))
      .join(", ");
  }

  /** For a chat, the wait for its own model; waits inside its retrieval count as retrieval. */
  get #waitedMs(): number | undefined {
    return this.#queueMs.chat ?? this.#queueMs.embedding ?? this.#queueMs.reranker;
  }

  get #retrievalMs(): number | undefined {
    const retrieved = this.work.find(({ type }) => type === "retrieved");
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
      tokens: usedTokens(this.work),
      queueMs: this.#waitedMs,
      firstTokenMs: this.#firstTokenMs,
      retrievalMs: this.#retrievalMs,
      work: this.work,
      from: this.#from,
      to: performance.now(),
    });
  }
}

export function contextOf(request: Request): RequestContext {
  const context = contexts.get(request);
  if (context === undefined) throw new Error("A request is answered that never came in");
  return context;
}

/** The tokens used by all work for a request, as its answer counts them, if a model ran. */
export function usedTokens(work: readonly FinishedWork[]): UsedTokens | undefined {
  const answers = work.filter((done) => done.type === "answered");
  if (answers.length > 0) {
    // Several answers to one prompt count it once. A token that one had to evaluate is not cached.
    const prompts = [...Map.groupBy(answers, ({ prompt }) => prompt).values()];
    const prompt = sumOf(prompts, (of) => of.flatMap(({ promptTokens }) => promptTokens ?? [])[0]);
    const cached = sumOf(prompts, (of) => {
      const counts = of.flatMap(({ usage }) => usage?.cachedTokens ?? []);
      return counts.length === 0 ? undefined : Math.min(...counts);
    });
    return {
      ...given({ prompt, cached }),
      completion: answers.reduce((sum, { generatedTokens }) => sum + generatedTokens, 0),
    };
  }
  const embedded = work.filter((done) => done.type === "embedded");
  // Reranked passages of a search are the node's own; the caller pays for the embedded query.
  const read = embedded.length > 0 ? embedded : work.filter((done) => done.type === "reranked");
  if (read.length === 0) return undefined;
  return { prompt: read.reduce((sum, { tokens }) => sum + tokens, 0), completion: 0 };
}

function sumOf<Item>(
  items: readonly Item[],
  of: (item: Item) => number | undefined,
): number | undefined {
  const known = items.flatMap((item) => of(item) ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}
