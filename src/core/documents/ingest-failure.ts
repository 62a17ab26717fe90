/** Why a file is not in its vector store, in words for whoever added it. */
import { type ErrorKind, NodeError } from "../errors.ts";
import type { Failure, FailureCode } from "./records.ts";

/** What is over when a server is back, a disk has room, or a model is loaded. */
const passing: readonly ErrorKind[] = [
  "unavailable",
  "model_not_ready",
  "overloaded",
  "timeout",
  "too_many_requests",
];

/** Whether the same file may be taken in later. */
export const isPassing = (error: unknown): boolean =>
  error instanceof NodeError && passing.includes(error.kind);

const codes: Partial<Record<ErrorKind, FailureCode>> = {
  invalid_request: "invalid_file",
  payload_too_large: "invalid_file",
  unsupported_media_type: "unsupported_file",
};

export function failureOf(error: unknown): Failure {
  if (!(error instanceof NodeError) || error.kind === "internal") {
    return {
      code: "server_error",
      message: "The node failed to take the file in. The log has the reason.",
    };
  }
  return { code: codes[error.kind] ?? "server_error", message: sentence(error.message) };
}

/** What readers say is read after the file's name: "is damaged." */
const sentence = (message: string): string =>
  /^[a-z]/.test(message) ? `The file ${message}` : message;
