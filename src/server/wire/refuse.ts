/** The error for a field that cannot be taken as it is. */
import { NodeError } from "../../core/errors.ts";

/** `why` goes on where the field's name ends: "is not JSON". */
export const refuse = (param: string, why: string): NodeError =>
  new NodeError("invalid_request", `'${param}' ${why}.`, { param });
