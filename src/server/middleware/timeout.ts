/** The timeout of a request: how long its answer may take. */
import { NodeError } from "../../core/errors.ts";
import type { RequestContext } from "../request-context.ts";

export interface TimeoutSettings {
  /** 0: no bound. */
  requestTimeoutMs: number;
  /** Aborts when the node stops, with an error for whoever is being answered. */
  stopping: AbortSignal;
}

/** From here on the request's signal hears of its time too; dispose of it when the request has ended. */
export function startTimeout(
  context: RequestContext,
  { requestTimeoutMs, stopping }: TimeoutSettings,
): Disposable {
  const { signal, clear } = deadline(requestTimeoutMs);
  context.endWith(signal, stopping);
  return { [Symbol.dispose]: clear };
}

interface Deadline {
  /** Aborts when the time is up, with an error for the caller. */
  signal: AbortSignal;
  /** Forgets the time. */
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

const overdue = (seconds: number): NodeError =>
  new NodeError(
    "timeout",
    `The answer took longer than the ${seconds} s that this node allows a request. Ask for fewer tokens, or raise limits.request_timeout.`,
  );
