/** The one table from kinds of error to what a client of the OpenAI API sees. */
import type { TSchema } from "@sinclair/typebox";
import { type ErrorKind, NodeError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { clientGone, type RequestContext } from "../request-context.ts";
import { ErrorAnswer } from "../wire/error-schema.ts";
import { named } from "../wire/field-names.ts";

interface WireError {
  status: number;
  type: "invalid_request_error" | "requests" | "tokens" | "insufficient_quota" | "server_error";
  code: string | null;
  headers?: Readonly<Record<string, string>>;
}

/** Clients retry after some statuses, for a minute and without a word; for these that does not help. */
const final = { "x-should-retry": "false" };

const table: Record<ErrorKind, WireError> = {
  invalid_request: { status: 400, type: "invalid_request_error", code: null },
  context_length_exceeded: {
    status: 400,
    type: "invalid_request_error",
    code: "context_length_exceeded",
  },
  unauthenticated: {
    status: 401,
    type: "invalid_request_error",
    code: "invalid_api_key",
    headers: { "www-authenticate": "Bearer", ...final },
  },
  forbidden: {
    status: 403,
    type: "invalid_request_error",
    code: "insufficient_permissions",
    headers: final,
  },
  unknown_host: {
    status: 403,
    type: "invalid_request_error",
    code: "unknown_host",
    headers: final,
  },
  keys_required: {
    status: 403,
    type: "invalid_request_error",
    code: "keys_required",
    headers: final,
  },
  not_found: { status: 404, type: "invalid_request_error", code: "unknown_url" },
  no_such_object: { status: 404, type: "invalid_request_error", code: null },
  method_not_allowed: { status: 405, type: "invalid_request_error", code: "method_not_allowed" },
  payload_too_large: { status: 413, type: "invalid_request_error", code: "payload_too_large" },
  // What is still on its way would be taken for the next request.
  body_timeout: {
    status: 408,
    type: "invalid_request_error",
    code: "body_timeout",
    headers: { connection: "close" },
  },
  client_stalled: { status: 408, type: "invalid_request_error", code: "client_stalled" },
  unsupported_media_type: {
    status: 415,
    type: "invalid_request_error",
    code: "unsupported_media_type",
  },
  too_many_requests: { status: 429, type: "requests", code: "rate_limit_exceeded" },
  too_many_tokens: { status: 429, type: "tokens", code: "rate_limit_exceeded" },
  // Clients retry after a 429; this one stays until something is deleted.
  quota_exceeded: {
    status: 429,
    type: "insufficient_quota",
    code: "insufficient_quota",
    headers: final,
  },
  model_not_found: {
    status: 404,
    type: "invalid_request_error",
    code: "model_not_found",
    headers: final,
  },
  model_not_ready: {
    status: 503,
    type: "server_error",
    code: "model_not_ready",
    headers: { "retry-after": "2" },
  },
  overloaded: {
    status: 503,
    type: "server_error",
    code: "queue_full",
    headers: { "retry-after": "5" },
  },
  timeout: {
    status: 504,
    type: "server_error",
    code: "request_timeout",
    headers: final,
  },
  collection_mismatch: { status: 503, type: "server_error", code: "collection_mismatch" },
  unavailable: {
    status: 503,
    type: "server_error",
    code: "unavailable",
    headers: { "retry-after": "2" },
  },
  // The remote server of a model broke off, or its answer cannot be read.
  upstream_failed: { status: 502, type: "server_error", code: "upstream_failed" },
  // It does not take what this node sends it: a matter of the node's configuration, or of its own.
  upstream_refused: {
    status: 502,
    type: "server_error",
    code: "upstream_refused",
    headers: final,
  },
  internal: { status: 500, type: "server_error", code: "internal_error" },
};

/** How an API writes its errors. */
export interface ErrorFormat {
  /** The body's schema, under its name in the OpenAPI document. */
  name: string;
  schema: TSchema;
  /** The message is fit for a caller. */
  body(error: NodeError, told: { message: string; requestId: string }): object;
  /** Other statuses than the OpenAI API's, by kind. */
  statuses?: Readonly<Partial<Record<ErrorKind, number>>>;
}

export interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string | null };
}

/** Any thrown value as the domain's error; what was not foreseen says nothing of its inside. */
export function toNodeError(error: unknown): NodeError {
  if (error instanceof NodeError) return error;
  return new NodeError(
    "internal",
    "The node failed to answer this request. The log has the reason under the request's id.",
    { cause: error },
  );
}

/** What a request that failed is answered; what was not foreseen is logged under its id. */
export function toErrorResponse(
  error: unknown,
  request: Request,
  context: Answered,
  log: Log,
): Response {
  // Nobody is left to read it; the log must not count it as a failure of the node.
  if (request.signal.aborted) return new Response(null, { status: clientGone });
  const known = toNodeError(error);
  if (known.kind === "internal") log.error("a request failed", { id: context.id, error });
  return answerError(known, context);
}

/** What of a request says how its errors are written. */
type Answered = Pick<RequestContext, "id" | "errorFormat" | "fieldNames">;

/** The error as the API has it that was asked. */
export function answerError(
  failure: NodeError,
  { id: requestId, errorFormat, fieldNames }: Answered,
  headers: Record<string, string> = {},
): Response {
  const error = named(failure, fieldNames);
  if (errorFormat === undefined) return errorResponse(error, headers);
  const status = errorFormat.statuses?.[error.kind] ?? table[error.kind].status;
  const body = errorFormat.body(error, { message: toldMessage(error), requestId });
  return respond(error, body, { status, headers });
}

/** Both may repeat what the caller wrote, which may be as long as a body. */
const longest = { message: 2000, param: 200 };

export function errorBody(error: NodeError): ErrorBody {
  const { type, code } = table[error.kind];
  const param = error.param === undefined ? null : shorten(error.param, longest.param);
  return { error: { message: toldMessage(error), type, param, code } };
}

/** What a caller is told: as much as it needs, and nothing of the node's inside. */
function toldMessage(error: NodeError): string {
  const message = shorten(error.message, longest.message);
  return table[error.kind].status < 500 ? message : redactPaths(message);
}

const shorten = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most)}…` : text;

/**
 * The errors of the specification's five operations, where a model that is not found is a 500. Clients
 * repeat that status, and not all of them can be told that it does not help.
 */
export const specifiedErrors: ErrorFormat = {
  name: "Error",
  schema: ErrorAnswer,
  statuses: { model_not_found: 500 },
  body: errorBody,
};

export function errorResponse(error: NodeError, headers: Record<string, string> = {}): Response {
  return respond(error, errorBody(error), { status: table[error.kind].status, headers });
}

function respond(
  error: NodeError,
  body: object,
  { status, headers }: { status: number; headers: Record<string, string> },
): Response {
  const own = table[error.kind].headers;
  return Response.json(body, { status, headers: { ...own, ...retryAfter(error), ...headers } });
}

const retryAfter = ({ retryAfterMs }: NodeError): Record<string, string> =>
  retryAfterMs === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterMs / 1000)) };

const absolute = /(?<![\w:/.])(?:\/|[A-Za-z]:\\)(?:[^\s'"/\\]+[/\\])+[^\s'",;)]*/g;
const relative = /(?<![\w:/.])\.{1,2}[/\\][^\s'",;)]+/g;
const credentials = /\/\/[^\s/@]+@/g;

const hidden = "(a path on the node)";

/** Hides paths and credentials in messages about the node's own trouble before a client sees them. */
export const redactPaths = (message: string): string =>
  message.replace(credentials, "//").replace(absolute, hidden).replace(relative, hidden);
