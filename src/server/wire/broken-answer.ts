/** Errors for answers that are none: what runs the model did not keep to what an answer is. */
import { NodeError } from "../../core/errors.ts";

export const unfinished = (): NodeError =>
  new NodeError("internal", "The model's answer ended without a reason.");

/** Arguments of a call that is not the one being written: APIs send calls one after the other. */
export const interleavedCalls = (): NodeError =>
  new NodeError(
    "upstream_failed",
    "The server that runs the model wrote two calls of tools into each other.",
  );
