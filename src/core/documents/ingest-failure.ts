/** Why a file was not ingested, and whether it is to be tried again. */
import { type ErrorKind, hasCode, NodeError } from "../errors.ts";
import type { Failure, FailureCode } from "./records.ts";

/** Temporary: over when a server is back, a disk has room, or a model is loaded. */
const passing: readonly ErrorKind[] = [
  "unavailable",
  "model_not_ready",
  "overloaded",
  "timeout",
  "too_many_requests",
];

const doubtful: readonly ErrorKind[] = ["internal", "upstream_failed", "upstream_refused"];

/** A server put a file's text off, or failed at it, and embedded another one then. */
export class RefusedText extends NodeError {
  constructor(refusal: NodeError) {
    const { kind, message } = refusal;
    super(kind, `${message} It embeds other texts, and not this file's.`, { cause: refusal });
  }
}

/** What speaks against a file before it fails. A text that is put off counts least, since other files may use up what a limit leaves: they are five hours of pauses. */
export const mostBlame = 600;
/** A text at which a server fails: they are two and a half minutes of pauses, in which one of several servers at the address may be away. */
const mostTries = 10;

/** How much a failure speaks against the file; 0: it passes, and the file is not its cause. `atOnce`: files that were ingested at the time, any of which may have ended their server. */
export function blameOf(error: unknown, atOnce: number): number {
  if (error instanceof RefusedText) return isPassing(error) ? 1 : mostBlame / mostTries;
  if (isPassing(error)) return 0;
  const isDoubtful = !(error instanceof NodeError) || doubtful.includes(error.kind);
  return isDoubtful ? mostBlame / 3 / atOnce : mostBlame;
}

/** So often a file's store waits with it, as most limits are over soon; afterwards the others of the store go on. */
const leastAlone = 5;

/** Whether the file waits without the others of its store: never at its first failure, since at one of the server each of them would fail, and use up its tries. */
export const waitsAlone = (error: unknown, blame: number): boolean =>
  error instanceof RefusedText && blame >= leastAlone && blame > blameOf(error, 1);

/** What the system says while the process may have no more files, processes or memory. */
const exhausted = ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"];

export const isPassing = (error: unknown): boolean =>
  error instanceof NodeError
    ? passing.includes(error.kind)
    : exhausted.some((code) => hasCode(error, code));

const codes: Partial<Record<ErrorKind, FailureCode>> = {
  invalid_request: "invalid_file",
  payload_too_large: "invalid_file",
  unsupported_media_type: "unsupported_file",
};

export function failureOf(error: unknown): Failure {
  if (isPassing(error) && !(error instanceof NodeError)) {
    const message = "The node has no open files, processes or memory to spare now. It tries again.";
    return { code: "server_error", message };
  }
  if (!(error instanceof NodeError) || error.kind === "internal") {
    return {
      code: "server_error",
      message: "The node failed to ingest the file. The log has the reason.",
    };
  }
  return { code: codes[error.kind] ?? "server_error", message: sentence(error.message) };
}

/** Messages of readers continue a sentence that begins with the file: "is damaged." */
const sentence = (message: string): string =>
  /^[a-z]/.test(message) ? `The file ${message}` : message;
