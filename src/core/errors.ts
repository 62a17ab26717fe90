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

/** The part of a request that an error is about, in the domain's words: each API has its own field for it. */
export interface Subject {
  /** `call`: the call that a tool's result names; `tool`: a tool's name; `choice`: the tool to call; `schema`: that of the answer's format. */
  part:
    | ("messages" | "call" | "prompt" | "tools" | "tool" | "choice")
    | ("format" | "schema" | "max tokens");
  /** Which one of several: of the messages, prompts or tools; of a tool its parameters are meant. */
  at?: number;
  /** What is at fault inside of it, as a path: `.properties.city`. */
  inside?: string;
}

export interface NodeErrorDetails {
  /** The request field at fault, as the caller wrote it: `messages[0].role`. */
  param?: string;
  /** In its place where the field has another name in each API. */
  subject?: Subject;
  /** When to retry, where that is known. */
  retryAfterMs?: number;
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

/** The same error for another caller: an error has one stack. */
export function copyOf({ kind, message, cause, ...details }: NodeError): NodeError {
  const { param, subject, retryAfterMs } = details;
  return new NodeError(kind, message, { ...given({ param, subject, retryAfterMs }), cause });
}

/** An error of the domain as it is; any other as `unavailable`. `what`: cannot be done, as a sentence. */
export function asNodeError(cause: unknown, what?: string): NodeError {
  if (cause instanceof NodeError) return cause;
  const reason = reasonOf(cause);
  return new NodeError("unavailable", what ? `${what}: ${reason.replace(/\.$/, "")}.` : reason, {
    cause,
  });
}

/** What an unknown thrown value has to say, for a log line or a message to a person. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether it is an error of the system or of a library with this code: `EEXIST`, `SQLITE_BUSY`. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
