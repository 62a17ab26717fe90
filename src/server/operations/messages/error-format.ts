/** Errors as Anthropic's API writes them. */
import type { Static } from "@sinclair/typebox";
import type { ErrorKind, NodeError } from "../../../core/errors.ts";
import { type ErrorFormat, errorBody } from "../../middleware/errors.ts";
import { type EventFormat, namedEvent, namedEvents } from "../../sse.ts";
import { ErrorBody } from "./answer-schema.ts";

const types: Readonly<Partial<Record<ErrorKind, string>>> = {
  unauthenticated: "authentication_error",
  forbidden: "permission_error",
  unknown_host: "permission_error",
  keys_required: "permission_error",
  not_found: "not_found_error",
  no_such_object: "not_found_error",
  model_not_found: "not_found_error",
  payload_too_large: "request_too_large",
  too_many_requests: "rate_limit_error",
  too_many_tokens: "rate_limit_error",
  quota_exceeded: "rate_limit_error",
  model_not_ready: "overloaded_error",
  overloaded: "overloaded_error",
  timeout: "timeout_error",
  collection_mismatch: "api_error",
  unavailable: "api_error",
  upstream_failed: "api_error",
  upstream_refused: "api_error",
  internal: "api_error",
};

type Body = Static<typeof ErrorBody>;

const toBody = ({ kind, param }: NodeError, message: string, requestId: string): Body => ({
  type: "error",
  error: {
    type: types[kind] ?? "invalid_request_error",
    // Clients that shorten a conversation by themselves know that they must by these words.
    message: kind === "context_length_exceeded" ? `prompt is too long: ${message}` : message,
    // Clients that would rather have the server remember go on without it by this code.
    ...(param === "thread" ? { details: { error_code: "thread_unsupported_request" } } : {}),
  },
  request_id: requestId,
});

export const messageErrors: ErrorFormat = {
  name: "MessageError",
  schema: ErrorBody,
  statuses: { overloaded: 529, model_not_ready: 529 },
  body: (error, { message, requestId }) => toBody(error, message, requestId),
};

/** The events of a stream, and `event: error` where it breaks off. */
export const messageEvents = (requestId: string): EventFormat =>
  namedEvents((error) => {
    const { message } = errorBody(error).error;
    return namedEvent("error", toBody(error, message, requestId));
  });
