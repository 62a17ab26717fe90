/** Errors and headers in the format of Anthropic's API. */
import type { Static } from "@sinclair/typebox";
import type { ErrorKind, NodeError } from "../../../core/errors.ts";
import { type EventFormat, namedEvent, namedEvents } from "../../event-format.ts";
import { type ErrorFormat, errorBody } from "../../middleware/errors.ts";
import type { HeaderFormat } from "../../operation.ts";
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
    // Clients that compact conversations recognize this text.
    message: kind === "context_length_exceeded" ? `prompt is too long: ${message}` : message,
    // Clients that prefer server-side threads continue without them on this code.
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

/** The format of a stream's events, with `event: error` if it breaks off. */
export const messageEvents = (requestId: string): EventFormat =>
  namedEvents((error) => {
    const { message } = errorBody(error).error;
    return namedEvent("error", toBody(error, message, requestId));
  });

export const messageHeaders: HeaderFormat = {
  requestId: "request-id",
  rateLimit: (what, { limit, remaining, resetMs }) => ({
    [`anthropic-ratelimit-${what}-limit`]: String(limit),
    [`anthropic-ratelimit-${what}-remaining`]: String(remaining),
    [`anthropic-ratelimit-${what}-reset`]: whenReset(resetMs),
  }),
};

/** A time in whole seconds, rounded up. */
const whenReset = (ms: number): string =>
  new Date(Math.ceil((Date.now() + ms) / 1000) * 1000).toISOString().replace(".000Z", "Z");

/** The node's answers are the same in both versions. */
const versions = new Set(["2023-06-01", "2026-10-21"]);

/** Betas that are always on here. */
const betas = new Set([
  "prompt-caching-2024-07-31",
  "extended-cache-ttl-2025-04-11",
  "token-counting-2024-11-01",
  "fine-grained-tool-streaming-2025-05-14",
  "structured-outputs-2025-11-13",
  "model-context-window-exceeded-2025-08-26",
]);

/** Names of the requested version and betas that the node ignores. */
export function ignoredHeaders(headers: Headers): string[] {
  const version = headers.get("anthropic-version");
  const asked = (headers.get("anthropic-beta") ?? "").split(",").map((name) => name.trim());
  return [
    ...(version === null || versions.has(version) ? [] : ["anthropic-version"]),
    ...asked
      .filter((name) => name !== "" && !betas.has(name))
      .map((name) => `anthropic-beta.${name}`),
  ];
}
