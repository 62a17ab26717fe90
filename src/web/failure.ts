/** Turns errors into messages for the user. */
import { ApiError } from "../client/api-error.ts";

export class Failure extends Error {
  constructor(
    message: string,
    /** Whether a retry may help. */
    readonly canRetry: boolean,
  ) {
    super(message);
  }
}

export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof ApiError) {
    if (error.kind === "status") return statusFailure(error);
    if (error.kind === "stream_error") return new Failure(error.message, true);
    if (error.kind === "unreachable") return new Failure(unreachable, true);
    if (error.kind === "stream_interrupted") return new Failure(interrupted, true);
  }
  return new Failure(`The page failed: ${error instanceof Error ? error.message : error}`, true);
}

const unreachable =
  "The node cannot be reached. Check that it is running and that you are connected, then retry.";

const interrupted = "The answer broke off before its end: the connection to the node was lost.";

function statusFailure({ status, code, headers, serverMessage }: ApiError): Failure {
  const message = serverMessage ?? `The node answered with status ${status}.`;
  const wait = waitOf(headers?.get("retry-after") ?? null);
  if (status === 401) return new Failure(message, true);
  if (status === 403) {
    // Two refusals have nothing to do with the key.
    const isOfKey = code !== "unknown_host" && code !== "keys_required";
    return new Failure(isOfKey ? `Your key does not allow this. ${message}` : message, false);
  }
  // A quota stays used up until something is deleted.
  if (status === 429 && code === "insufficient_quota") return new Failure(message, false);
  if (status === 429) {
    return new Failure(`That was too much at once. Wait ${wait}, then retry.`, true);
  }
  if (status === 503 && code === "queue_full") {
    return new Failure(`The node is busy: too many requests wait already. Retry in ${wait}.`, true);
  }
  if (status === 503) return new Failure(`The node is not ready for this. ${message}`, true);
  const isServerError = status !== undefined && status >= 500;
  return new Failure(message, isServerError && headers?.get("x-should-retry") !== "false");
}

function waitOf(header: string | null): string {
  const seconds = Number(header);
  if (header === null || !Number.isFinite(seconds)) return "a moment";
  return seconds === 1 ? "1 second" : `${seconds} seconds`;
}
