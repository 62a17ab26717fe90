/** The domain's only error class: adapters convert errors to it, and each API converts it to its own. */

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

/** The part of a request that an error is about, in domain terms: each API has its own field for it. */
export interface Subject {
  /** `call`: that of a tool's result; `choice`: whether tools are called; `chosen`: the tool that must be; `schema`: the answer format's. */
  part:
    | ("messages" | "call" | "prompt" | "tools" | "tool" | "choice" | "chosen")
    | ("format" | "schema" | "max tokens");
  /** Index of the message, prompt or tool; for a tool, its parameters are meant. */
  at?: number;
  /** The faulty part inside it, as a path: `.properties.city`. */
  inside?: string;
}

export interface NodeErrorDetails {
  /** The request field at fault, as the caller wrote it: `messages[0].role`. */
  param?: string | undefined;
  /** Instead of `param`, if the field's name depends on the API. */
  subject?: Subject | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

export class NodeError extends Error {
  override readonly name = "NodeError";
  readonly kind: ErrorKind;
  readonly param: string | undefined;
  readonly subject: Subject | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: ErrorKind,
    message: string,
    { param, subject, retryAfterMs, cause }: NodeErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.param = param;
    this.subject = subject;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A copy for another caller, since an error has only one stack. */
export const copyOf = (error: NodeError): NodeError =>
  new NodeError(error.kind, error.message, error);

/** Returns a NodeError unchanged, and wraps any other error as `unavailable`. `what`: begins its message. */
export function asNodeError(cause: unknown, what?: string): NodeError {
  if (cause instanceof NodeError) return cause;
  const reason = reasonOf(cause);
  const why = what ? `${what}: ${reason.replace(/\.$/, "")}.` : reason;
  return new NodeError("unavailable", why, { cause });
}

/** The message of any thrown value, for a log line or a person. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** Whether an error of the system or a library has this code: `EEXIST`, `SQLITE_BUSY`. */
export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
