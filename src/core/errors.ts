/** The one error of the domain: adapters translate into it, the wire translates out of it. */
import { given } from "./given.ts";

export const errorKinds = [
  "invalid_request",
  "unauthenticated",
  "forbidden",
  "unknown_host",
  "keys_required",
  "not_found",
  "no_such_object",
  "method_not_allowed",
  "payload_too_large",
  "body_timeout",
  "client_stalled",
  "unsupported_media_type",
  "context_length_exceeded",
  "too_many_requests",
  "too_many_tokens",
  "quota_exceeded",
  "model_not_found",
  "model_not_ready",
  "overloaded",
  "timeout",
  "collection_mismatch",
  "unavailable",
  "upstream_failed",
  "upstream_refused",
  "internal",
] as const;

export type ErrorKind = (typeof errorKinds)[number];

export interface NodeErrorDetails {
  /** The request field at fault, as the caller wrote it: `messages[0].role`. */
  param?: string;
  /** When it may be asked again, where that is known. */
  retryAfterMs?: number;
  cause?: unknown;
}

export class NodeError extends Error {
  override readonly name = "NodeError";
  readonly kind: ErrorKind;
  readonly param: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: ErrorKind,
    message: string,
    { param, retryAfterMs, cause }: NodeErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.param = param;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The same error about a field that the caller calls otherwise. */
export function withField(
  error: NodeError,
  { message, param }: { message: string; param: string | undefined },
): NodeError {
  const { kind, retryAfterMs } = error;
  return new NodeError(kind, message, { ...given({ param, retryAfterMs }), cause: error });
}

/** The same error for another caller: an error has one stack, of whoever made it. */
export function copyOf({ kind, message, param, retryAfterMs, cause }: NodeError): NodeError {
  return new NodeError(kind, message, { ...given({ param, retryAfterMs }), cause });
}

/** What an unknown thrown value has to say, for a log line or a message to a person. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether it is an error of the system or of a library with this code: `EEXIST`, `SQLITE_BUSY`. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
