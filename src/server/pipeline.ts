/**
 * The way of every request, in one order; each step is a file of middleware/.
 *
 * Elysia's lifecycle carries what happens before routing, after an error and after a response. What
 * happens around a handler is plain functions: a lease, a timeout and a prompt log end with the
 * stream, long after the handler has returned, and Elysia has no hook for that.
 */
import { given } from "../core/given.ts";
import type { Log } from "../core/log.ts";
import { checkAddress } from "./address.ts";
import { missingRoute } from "./allowed-methods.ts";
import { type Access, authenticate, authorize } from "./middleware/authentication.ts";
import { continueInBackground } from "./middleware/background.ts";
import { type BodyLimits, readBody } from "./middleware/body-limit.ts";
import { answerPreflight, corsHeaders } from "./middleware/cors.ts";
import { downloadResponse } from "./middleware/download.ts";
import { rejectWhileDraining } from "./middleware/drain.ts";
import { answerError, type ErrorFormat, toErrorResponse } from "./middleware/errors.ts";
import { checkForwarded } from "./middleware/forwarded.ts";
import { checkHost } from "./middleware/host-header.ts";
import { announceIgnored } from "./middleware/ignored-fields.ts";
import type { ListLimits } from "./middleware/list-length.ts";
import { meter } from "./middleware/metering.ts";
import { UploadForm, type UploadLimits } from "./middleware/multipart.ts";
import { type Observers, observe } from "./middleware/observe.ts";
import { checkOrigin } from "./middleware/origin.ts";
import type { PromptLog } from "./middleware/prompt-log.ts";
import { acquireLease, type RateLimitSettings } from "./middleware/rate-limit.ts";
import { requestId, requestIdHeader } from "./middleware/request-id.ts";
import { streamResponse } from "./middleware/stream.ts";
import { startTimeout } from "./middleware/timeout.ts";
import { readRequest } from "./middleware/validation.ts";
import type { Operation, OperationFacts } from "./operation.ts";
import {
  contextOf,
  openContext,
  type RequestContext,
  type ResponseHeaders,
} from "./request-context.ts";
import { StreamBuffers } from "./sse.ts";

export interface PipelineSettings extends Observers {
  access: Access;
  rateLimit: RateLimitSettings;
  promptLog: PromptLog;
  /** Origins, besides the node's own, whose pages may ask. */
  corsOrigins: readonly string[];
  /** Names besides this machine's own that requests may be for; absent: any. */
  allowedHosts?: readonly string[];
  /** Whether everyone is served without keys, also through a proxy. */
  isOpen: boolean;
  /** Names of operations that want a key and are open to everyone on this node. */
  openOperations: readonly string[];
  /** Whether the node was asked to stop, and takes no new requests. */
  isDraining: () => boolean;
  /** Aborts when the node stops, with an error for whoever is being answered. */
  stopping: AbortSignal;
  limits: BodyLimits &
    ListLimits &
    UploadLimits & { requestTimeoutMs: number; stallTimeoutMs: number };
  log: Log;
}

/** What is asked for: an operation, or something else that has a name. */
export interface Target {
  name: string;
  operation: OperationFacts | undefined;
  /** How errors are written there; default: as the OpenAI API has them. */
  errorFormat?: ErrorFormat;
}

/** A request as Elysia hands it to a route, with the response that is being made. */
export interface RoutedRequest {
  request: Request;
  params: Readonly<Record<string, string>>;
  set: { status?: number | string; headers: ResponseHeaders };
}

export class Pipeline {
  readonly #settings: PipelineSettings;
  readonly #buffers = new StreamBuffers();

  constructor(settings: PipelineSettings) {
    this.#settings = settings;
  }

  /** Before routing, for every request: operations, pages, and addresses where there is nothing. */
  receive(
    request: Request,
    { name, operation, errorFormat }: Target,
    headers: ResponseHeaders,
  ): Response | undefined {
    const { access, corsOrigins, allowedHosts, isOpen, telemetry } = this.#settings;
    const id = requestId(request);
    headers[requestIdHeader] = id;
    if (operation?.headerFormat !== undefined) headers[operation.headerFormat.requestId] = id;
    headers["x-content-type-options"] = "nosniff";
    const context = openContext({
      request,
      id,
      operation: { operation: name, genAiOperation: operation?.genAiName },
      ...given({ errorFormat, headerFormat: operation?.headerFormat }),
      headers,
      access,
      logsPrompts: this.#settings.promptLog.isOn,
      onWork: (event, since) => telemetry.worked(event, since),
    });
    observe(context, this.#settings);
    Object.assign(headers, corsHeaders(request, corsOrigins));
    checkAddress(request);
    if (allowedHosts !== undefined) checkHost(request, allowedHosts);
    checkOrigin(request, corsOrigins);
    const isHarmless = operation?.isProbe === true || this.#isOpen(name);
    checkForwarded(request, isHarmless, { wantsKeys: () => access.wantsKeys(), isOpen });
    const early =
      answerPreflight(request, corsOrigins) ??
      (this.#settings.isDraining() ? rejectWhileDraining(context, operation) : undefined);
    // What is answered here passes by all that follows.
    if (early !== undefined) context.responded(early.status);
    return early;
  }

  /** From an operation's request to its response. */
  async serve<Services>(
    operation: Operation<Services>,
    services: Services,
    { request, params, set }: RoutedRequest,
  ): Promise<Response | object> {
    const { promptLog, limits, log, rateLimit } = this.#settings;
    const context = contextOf(request);
    using ending = new DisposableStack();

    authenticate(context, operation.facts, this.#isOpen(operation.facts.name));
    if (operation.facts.scope !== undefined) {
      const lease = acquireLease(request, context, rateLimit, operation.facts);
      context.lease = ending.use(lease instanceof Promise ? await lease : lease);
      ending.defer(() => void meter(context));
    }

    const takesBody = operation.facts.body !== undefined;
    const bytes = takesBody ? await readBody(request, limits) : undefined;
    const form = operation.facts.form && ending.use(new UploadForm(request, context, limits));
    const { searchParams: query } = new URL(request.url);
    const asked = await readRequest(operation, bytes, { parameters: params, query, form }, limits);
    context.model = asked.model;
    authorize(context, operation.facts, asked.scopes);
    const reserved = asked.answers > 1 ? context.lease.reserve(asked.answers) : undefined;
    if (reserved !== undefined) await reserved;
    if (asked.requests > 1) await context.lease.countAs(asked.requests);
    const prompt = asked.logged();
    if (prompt !== undefined) promptLog.asked(context.id, prompt);
    ending.defer(() => this.#logAnswer(context));
    announceIgnored(asked.ignored(), context, log);

    const { requestTimeoutMs, stallTimeoutMs } = limits;
    const { stopping } = this.#settings;
    ending.use(startTimeout(context, { requestTimeoutMs, stopping }));
    const answer = await asked.answer(context, services);
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
    // What the caller has left is known before the headers go.
    const metered = operation.facts.scope === undefined ? undefined : meter(context);
    if (metered !== undefined) await metered;
    if (answer.status !== undefined) set.status = answer.status;
    if ("json" in answer) return answer.json;
    if ("download" in answer) return downloadResponse(answer.download);
    return new Response(answer.text, { headers: { "content-type": answer.contentType } });
  }

  /** Nothing is at the address, or not for the method; `allowed` are the methods that there are. */
  missing(request: Request, allowed: readonly string[]): Response {
    const allow: Record<string, string> = allowed.length > 0 ? { allow: allowed.join(", ") } : {};
    return answerError(missingRoute(request, allowed), contextOf(request), allow);
  }

  /** What a failure answers, whatever failed. */
  fail(error: unknown, request: Request): Response {
    return toErrorResponse(error, request, contextOf(request), this.#settings.log);
  }

  /** The handler has ended: what is known by now of how long it took. */
  time(request: Request, headers: ResponseHeaders): void {
    const timing = contextOf(request).serverTiming();
    if (timing !== "") headers["server-timing"] = timing;
  }

  /** The response is sent, and with it the request has ended, unless work for it goes on. */
  responded(request: Request, status: number): void {
    contextOf(request).responded(status);
  }

  #isOpen(name: string): boolean {
    return this.#settings.openOperations.includes(name);
  }

  #logAnswer({ id, loggedAnswer }: RequestContext): void {
    if (loggedAnswer !== undefined) this.#settings.promptLog.answered(id, loggedAnswer());
  }
}
