/** Why a response was not made, as the API tells it. */
import { type ErrorKind, NodeError } from "../errors.ts";
import type { ResponseFailure } from "../ports/response-store.ts";

/** Those of OpenAI's API; all others are `server_error`. */
const codes: Partial<Record<ErrorKind, string>> = {
  invalid_request: "invalid_prompt",
  context_length_exceeded: "invalid_prompt",
  payload_too_large: "invalid_prompt",
  too_many_requests: "rate_limit_exceeded",
  too_many_tokens: "rate_limit_exceeded",
};

/** What was not foreseen says nothing of its inside. */
export function toFailure(error: unknown): ResponseFailure {
  if (!(error instanceof NodeError)) {
    return {
      code: "server_error",
      message: "The node failed to make this response. The log has the reason under its id.",
    };
  }
  return { code: codes[error.kind] ?? "server_error", message: error.message };
}

export const nodeStopped = (): NodeError =>
  new NodeError("unavailable", "The node stopped before the response was made. Ask again.");
