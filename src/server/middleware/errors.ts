/** Maps kinds of error to HTTP statuses and error bodies of the OpenAI API. */
import type { TSchema } from "@sinclair/typebox";
import { type ErrorKind, NodeError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { clientGone, type RequestContext } from "../request-context.ts";
import { chatNames, named } from "../wire/field-names.ts";
import { ErrorAnswer } from "../wire/fields.ts";

interface WireError {
  status: number;
  type: "invalid_request_error" | "requests" | "tokens" | "insufficient_quota" | "server_error";
  code: string | null;
  headers: Readonly<Record<string, string>>;
}

const ofType =
  (type: WireError["type"]) =>
  (status: number, code: string | null, headers = {}): WireError => ({
    status,
    type,
    code,
    headers,
  });

/** An error that the caller can fix. */
const refused = ofType("invalid_request_error");
/** A failure of the node, or of a service that it depends on. */
const failed = ofType("server_error");

/** Clients silently retry some statuses for a minute; for these errors that does not help. */
const final = { "x-should-retry": "false" };

const retryIn = (seconds: number) => ({ "retry-after": String(seconds) });

const table: Record<ErrorKind, WireError> = {
  invalid_request: refused(400, null),
  context_length_exceeded: refused(400, "context_length_exceeded"),
  unauthenticated: refused(401, "invalid_api_key", { "www-authenticate": "Bearer", ...final }),
  forbidden: refused(403, "insufficient_permissions", final),
  unknown_host: refused(403, "unknown_host", final),
  keys_required: refused(403, "keys_required", final),
  not_found: refused(404, "unknown_url"),
  no_such_object: refused(404, null),
  model_not_found: refused(404, "model_not_found", final),
  method_not_allowed: refused(405, "method_not_allowed"),
  // The rest of the body would be read as the next request.
  body_timeout: refused(408, "body_timeout", { connection: "close" }),
  client_stalled: refused(408, "client_stalled"),
  payload_too_large: refused(413, "payload_too_large"),
  unsupported_media_type: refused(415, "unsupported_media_type"),
  too_many_requests: ofType("requests")(429, "rate_limit_exceeded"),
  too_many_tokens: ofType("tokens")(429, "rate_limit_exceeded"),
  // Clients retry after a 429, but this error stays until something is deleted.
  quota_exceeded: ofType("insufficient_quota")(429, "insufficient_quota", final),
  internal: failed(500, "internal_error"),
  // The remote server of a model broke off, or its answer cannot be read.
  upstream_failed: failed(502, "upstream_failed"),
  // It rejects what this node sends it: the configuration of either is wrong.
  upstream_refused: failed(502, "upstream_refused", final),
  model_not_ready: failed(503, "model_not_ready", retryIn(2)),
  overloaded: failed(503, "queue_full", retryIn(5)),
  collection_mismatch: failed(503, "collection_mismatch"),
  unavailable: failed(503, "unavailable", retryIn(2)),
  timeout: failed(504, "request_timeout", final),
};

export interface ErrorFormat {
  name: string;
  schema: TSchema;
  /** `told.message` is safe to show to a caller. */
  body(error: NodeError, told: { message: string; requestId: string }): object;
  /** Statuses that differ from the OpenAI API's, by kind. */
  statuses?: Readonly<Partial<Record<ErrorKind, number>>>;
}

/** Any thrown value as a `NodeError`; an unexpected one reveals no internals. */
export function toNodeError(error: unknown): NodeError {
  if (error instanceof NodeError) return error;
  return new NodeError(
    "internal",
    "The node failed to answer this request. The log has the reason under the request's id.",
    { cause: error },
  );
}

/** The response to a failed request; an unexpected error is logged under the request's id. */
export function toErrorResponse(
  error: unknown,
  request: Request,
  context: Answered,
  log: Log,
): Response {
  // The client is gone; the log must not count this as a failure of the node.
  if (request.signal.aborted) return new Response(null, { status: clientGone });
  const known = toNodeError(error);
  if (known.kind === "internal") log.error("a request failed", { id: context.id, error });
  return answerError(known, context);
}

type Answered = Pick<RequestContext, "id" | "errorFormat" | "fieldNames">;

export function answerError(
  failure: NodeError,
  { id: requestId, errorFormat = openaiErrors, fieldNames }: Answered,
  headers: Record<string, string> = {},
): Response {
  const error = named(failure, fieldNames);
  const { status, headers: own } = table[error.kind];
  const body = errorFormat.body(error, { message: toldMessage(error), requestId });
  return Response.json(body, {
    status: errorFormat.statuses?.[error.kind] ?? status,
    headers: { ...own, ...retryAfter(error), ...headers },
  });
}

export const errorResponse = (error: NodeError): Response =>
  answerError(error, { id: "", errorFormat: undefined, fieldNames: chatNames });

/** Both may quote the caller's text, which may be as long as a body. */
const longest = { message: 2000, param: 200 };

export function errorBody(error: NodeError): ErrorAnswer {
  const { type, code } = table[error.kind];
  const param = error.param === undefined ? null : shorten(error.param, longest.param);
  return { error: { message: toldMessage(error), type, param, code } };
}

function toldMessage(error: NodeError): string {
  const message = shorten(error.message, longest.message);
  return table[error.kind].status < 500 ? message : redactPaths(message);
}

const shorten = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most)}…` : text;

const openaiErrors: ErrorFormat = { name: "Error", schema: ErrorAnswer, body: errorBody };

/**
 * The errors of the specification's five operations, where an unknown model is a 500. Clients retry
 * that status, and not all of them heed `x-should-retry`.
 */
export const specifiedErrors: ErrorFormat = { ...openaiErrors, statuses: { model_not_found: 500 } };

const retryAfter = ({ retryAfterMs }: NodeError): Record<string, string> =>
  retryAfterMs === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterMs / 1000)) };

/** A folder's name may have spaces; a sentence goes on after other signs. */
const absolute =
  /(?<![\w:/.])(?:\/|[A-Za-z]:\\)(?:(?:[^\s'"/\\]|(?<![.,:;)]) )+[/\\])+[^\s'",;)]*/g;
const relative = /(?<![\w:/.])\.{1,2}[/\\][^\s'",;)]+/g;
const credentials = /\/\/[^\s/@]+@/g;

const hidden = "(a path on the node)";

/** Hides paths and credentials in messages about the node's own failures. */
export const redactPaths = (message: string): string =>
  message.replace(credentials, "//").replace(absolute, hidden).replace(relative, hidden);
