/**
 * The steps that every request goes through, in order; each step is a file in middleware/.
 *
 * Elysia routes a request and then calls `serve`, `receive` (for a page) or `missing`. The steps
 * around a handler are plain functions, not Elysia hooks: a lease, a timeout and a prompt log end
 * with the stream, long after the handler has returned, and Elysia has no hook for that.
 */
import { NodeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { ModelLibrary } from "../core/models/model-library.ts";
import type { ModelRegistry } from "../core/models/model-registry.ts";
import { Places } from "../core/turns.ts";
import { checkAddress, missingRoute } from "./address.ts";
import {
  continueInBackground,
  downloadResponse,
  inPieces,
  largeText,
  startTimeout,
  streamResponse,
} from "./middleware/answer.ts";
import { type Access, authenticate, withoutManaging } from "./middleware/authentication.ts";
import { answerError, toErrorResponse } from "./middleware/errors.ts";
import { announceIgnored } from "./middleware/ignored-fields.ts";
import { UploadForm, type UploadLimits } from "./middleware/multipart.ts";
import {
  answerPreflight,
  checkForwarded,
  checkHost,
  checkOrigin,
  corsHeaders,
} from "./middleware/origin.ts";
import { acquireLease, meter, type RateLimitSettings } from "./middleware/rate-limit.ts";
import {
  type BodyLimits,
  mostLargeBodies,
  RequestMemory,
  readBody,
} from "./middleware/read-body.ts";
import { type ListLimits, readRequest } from "./middleware/read-request.ts";
import {
  logPrompt,
  type Observers,
  observe,
  requestId,
  requestIdHeader,
} from "./middleware/request-log.ts";
import type { Operation, OperationFacts } from "./operation.ts";
import { contextOf, RequestContext, type ResponseHeaders, type Target } from "./request-context.ts";
import { StreamBuffers } from "./sse.ts";

export interface PipelineSettings extends Observers {
  access: Access;
  rateLimit: RateLimitSettings;
  logsPrompts: boolean;
  /** Origins, in addition to the node's own, whose pages may send requests. */
  corsOrigins: readonly string[];
  /** Host names, in addition to this machine's own, that requests may be for; absent: any. */
  allowedHosts?: readonly string[];
  /** Whether everyone is served without a key, even through a proxy. */
  isOpen: boolean;
  models: Pick<ModelRegistry, "typeOf" | "hasFailed">;
  library: Pick<ModelLibrary, "refresh">;
  /** Names of operations that usually need a key and are open to everyone on this node. */
  openOperations: readonly string[];
  /** Whether the node is stopping and accepts no new requests. */
  isDraining: () => boolean;
  /** Aborts when the node stops; its reason is the error for requests in progress. */
  stopping: AbortSignal;
  limits: BodyLimits &
    ListLimits &
    UploadLimits & { requestTimeoutMs: number; stallTimeoutMs: number };
  log: Log;
}

/** Requests about documents that are worked on at a time for one caller, and as many of MCP's. */
const mostOfDocuments = 8;

/** Whether one thread answers it, and every caller's, in order. An upload takes as long as its client. */
const asksDocuments = ({ name, scope, form }: OperationFacts): boolean =>
  form === undefined && (scope === "documents" || name === "mcp");

/** A request as Elysia passes it to a route, with the response's status and headers. */
interface RoutedRequest {
  request: Request;
  /** Absent for a path without any; null: it cannot be decoded. */
  params?: Readonly<Record<string, string | null>>;
  set: { status?: number | string; headers: ResponseHeaders };
}

export class Pipeline {
  readonly #settings: PipelineSettings;
  readonly #access: Access;
  readonly #buffers = new StreamBuffers();
  readonly #memory: RequestMemory;
  readonly #documents = new Places(mostOfDocuments);

  constructor(settings: PipelineSettings) {
    const { access, isOpen } = settings;
    this.#settings = settings;
    this.#access = isOpen ? withoutManaging(access) : access;
    this.#memory = new RequestMemory(() => mostLargeBodies * settings.limits.maxBodyBytes);
  }

  /** Opens the request's context, and runs the checks that apply to every address. */
  receive(request: Request, target: Target, headers: ResponseHeaders): void {
    const context = this.#open(request, target, headers);
    this.#check(request, target);
    this.#rejectWhileDraining(context, target);
  }

  async serve<Services>(
    operation: Operation<Services>,
    services: Services,
    { request, params, set }: RoutedRequest,
  ): Promise<Response | object> {
    const { logsPrompts, limits, log, rateLimit } = this.#settings;
    this.receive(request, { name: operation.facts.name, operation: operation.facts }, set.headers);
    const context = contextOf(request);
    using ending = new DisposableStack();

    authenticate(context, operation.facts, this.#isOpen(operation.facts.name));
    if (operation.facts.scope !== undefined) {
      context.lease = ending.use(await acquireLease(request, context, rateLimit, operation.facts));
      ending.defer(() => void meter(context));
    }
    const { body, scope } = operation.facts;
    const caller = scope === undefined ? "" : context.lease.caller;
    context.held = ending.use(this.#memory.begin(caller));
    const bytes =
      body === undefined ? undefined : await readBody(request, limits, context.held, body);
    const form = ending.use(new UploadForm(request, context, limits));
    const { searchParams: query } = new URL(request.url);
    const parameters = Object.fromEntries(
      Object.entries(params ?? {}).map(([name, value]) => [name, value ?? ""]),
    );
    const asked = await readRequest(operation, bytes, { parameters, query, form }, limits, caller);
    context.model = asked.model;
    const { models, library } = this.#settings;
    // Another program may have pulled it a moment ago, or put another file in its place.
    if (
      asked.model !== undefined &&
      (models.typeOf(asked.model) === undefined || models.hasFailed(asked.model))
    )
      await library.refresh();
    if (scope && asked.scopes.length > 0) context.authenticate(scope, ...asked.scopes);
    if (asked.answers > 1) await context.lease.reserve(asked.answers);
    if (asked.requests > 1) await context.lease.countAs(asked.requests);
    const prompt = logsPrompts ? asked.logged() : undefined;
    if (prompt !== undefined) logPrompt(log, "a prompt", context.id, prompt);
    ending.defer(() => this.#logAnswer(context));
    announceIgnored(asked.ignored(), context, log);

    const { requestTimeoutMs, stallTimeoutMs } = limits;
    const longestMs = operation.facts.isLong === true ? 0 : requestTimeoutMs;
    ending.use(startTimeout(context, longestMs, this.#settings.stopping));
    // By scope: a search of MCP may wait for a model, and a list must not wait for that.
    const inTurn = () =>
      this.#documents.run(`${scope} ${caller}`, async () => {
        // Its client may have left while it waited.
        context.signal.throwIfAborted();
        return await asked.answer(context, services);
      });
    const answer = await (asksDocuments(operation.facts)
      ? inTurn()
      : asked.answer(context, services));
    context.isAnswered = true;

    if ("events" in answer) {
      const end = ending.move();
      const settings = { stallTimeoutMs, buffers: this.#buffers, log };
      return await streamResponse(answer, request, context, end, settings);
    }
    if ("background" in answer && answer.background !== undefined) {
      rateLimit.connections.ended(request);
      continueInBackground(answer.background, context, ending.move());
      return answer.json;
    }
    // Metered before the headers are sent: they report the rest of the caller's limits.
    if (operation.facts.scope !== undefined) await meter(context);
    if (answer.status !== undefined) set.status = answer.status;
    if ("download" in answer) return downloadResponse(answer.download);
    const { text, contentType = "application/json" } =
      "json" in answer ? { text: JSON.stringify(answer.json) } : answer;
    if (typeof text === "string" && text.length < largeText)
      return new Response(text, { headers: { "content-type": contentType } });
    // It is held until it is read, and a client may ask for many and read none.
    if (typeof text === "string") context.held.add(Buffer.byteLength(text));
    const settings = { stallTimeoutMs, buffers: this.#buffers, log };
    return await streamResponse(
      inPieces(text, contentType),
      request,
      context,
      ending.move(),
      settings,
    );
  }

  /** The answer if Elysia found no route; `allowed`: the methods of the address. */
  missing(
    request: Request,
    target: Target,
    headers: ResponseHeaders,
    allowed: readonly string[],
  ): Response {
    const context = this.#open(request, target, headers);
    try {
      this.#check(request, target);
      const preflight = answerPreflight(request, this.#settings.corsOrigins);
      if (preflight !== undefined) return preflight;
      this.#rejectWhileDraining(context, target);
    } catch (error) {
      return this.fail(error, request);
    }
    const allow: Record<string, string> = allowed.length > 0 ? { allow: allowed.join(", ") } : {};
    return answerError(missingRoute(request, allowed), context, allow);
  }

  fail(error: unknown, request: Request): Response {
    return toErrorResponse(error, request, contextOf(request), this.#settings.log);
  }

  #open(request: Request, target: Target, headers: ResponseHeaders): RequestContext {
    const { corsOrigins, logsPrompts, telemetry } = this.#settings;
    const id = requestId(request);
    headers[requestIdHeader] = id;
    const { headerFormat } = target.operation ?? {};
    if (headerFormat !== undefined) headers[headerFormat.requestId] = id;
    headers["x-content-type-options"] = "nosniff";
    Object.assign(headers, corsHeaders(request, corsOrigins));
    const context = new RequestContext({
      ...{ request, id, target, headers, access: this.#access, logsPrompts },
      onWork: (event, since) => telemetry.worked(event, since),
    });
    observe(context, this.#settings);
    return context;
  }

  #check(request: Request, { name, operation }: Target): void {
    const { access, corsOrigins, allowedHosts, isOpen } = this.#settings;
    checkAddress(request);
    if (allowedHosts !== undefined) checkHost(request, allowedHosts);
    checkOrigin(request, corsOrigins);
    const isForAll = isOpen || operation?.isProbe === true || this.#isOpen(name);
    if (!isForAll) checkForwarded(request, access);
  }

  /** Operations that report the node's state are still served. */
  #rejectWhileDraining({ headers }: RequestContext, { operation }: Target): void {
    if (!this.#settings.isDraining() || operation?.whileDraining === true) return;
    headers.connection = "close";
    throw new NodeError("unavailable", "The node is stopping. Try again later.");
  }

  #isOpen(name: string): boolean {
    return this.#settings.openOperations.includes(name);
  }

  #logAnswer({ id, loggedAnswer }: RequestContext): void {
    const { logsPrompts, log } = this.#settings;
    if (logsPrompts && loggedAnswer !== undefined) logPrompt(log, "an answer", id, loggedAnswer());
  }
}
