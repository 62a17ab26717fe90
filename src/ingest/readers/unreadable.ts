/** The errors of a file that cannot be turned into text; they are read after the file's name. */
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";

export const unreadable = (why: string, cause?: unknown): NodeError =>
  new NodeError("invalid_request", `${why}.`, given({ cause }));

/** It is of a format that is not read: another copy of it would not help. */
export const unsupported = (why: string): NodeError =>
  new NodeError("unsupported_media_type", `${why}.`);

/** Whether it is the file's own fault. */
export const isUnreadable = (error: unknown): error is NodeError =>
  error instanceof NodeError &&
  (error.kind === "invalid_request" || error.kind === "unsupported_media_type");
