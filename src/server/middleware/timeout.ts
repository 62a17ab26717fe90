/** How long a request may take. */
import { NodeError } from "../../core/errors.ts";

export interface Deadline {
  /** Aborts when the time is up, with an error for the caller. */
  signal: AbortSignal;
  /** Forgets the time; the request has ended. */
  clear: () => void;
}

/** A deadline after so many milliseconds; 0: never. */
export function deadline(ms: number): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  if (ms === 0) return { signal, clear: () => {} };
  const timer = setTimeout(() => controller.abort(overdue(ms / 1000)), ms);
  return { signal, clear: () => clearTimeout(timer) };
}

/**
 * What ends a request: its client leaves, its time is up, or the node stops. Clear it when the
 * request has ended.
 */
export function requestSignal(
  request: Request,
  { requestTimeoutMs, stopping }: { requestTimeoutMs: number; stopping: AbortSignal },
  ...more: readonly AbortSignal[]
): Deadline {
  const { signal, clear } = deadline(requestTimeoutMs);
  return { signal: AbortSignal.any([request.signal, signal, stopping, ...more]), clear };
}

const overdue = (seconds: number): NodeError =>
  new NodeError(
    "timeout",
    `The answer took longer than the ${seconds} s that this node allows a request. Ask for fewer tokens, or raise limits.request_timeout.`,
  );
