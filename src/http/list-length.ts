/** Refuses lists of a request that are longer than the node takes. */
import { NodeError } from "../core/errors.ts";

/** `setting`: the name of the bound in the configuration. */
export function checkLength(param: string, length: number, most: number, setting: string): void {
  if (length <= most) return;
  throw new NodeError(
    "invalid_request",
    `'${param}' is a list of ${length}; this node takes at most ${most} (${setting}).`,
    { param },
  );
}
