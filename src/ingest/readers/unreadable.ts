/** The error of a file that cannot be turned into text; it is read after the file's name. */
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";

export const unreadable = (why: string, cause?: unknown): NodeError =>
  new NodeError("invalid_request", `${why}.`, given({ cause }));
