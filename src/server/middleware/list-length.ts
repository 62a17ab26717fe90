/** Refuses lists of a request that are longer than the node takes. */
import { NodeError } from "../../core/errors.ts";

export interface ListBound {
  /** The field that is a list. */
  param: string;
  most: number;
  /** Name of the bound in the configuration. */
  setting: string;
  /** Whether the bound is for such a list, by its first item; default: for every one. */
  isFor?: (first: unknown) => boolean;
}

/** Looks at lengths only: nothing in a list counts before it is known not to be too long. */
export function checkLists(body: unknown, bounds: readonly ListBound[]): void {
  for (const { param, most, setting, isFor = () => true } of bounds) {
    const list: unknown = Object(body)[param];
    if (!Array.isArray(list) || list.length <= most || !isFor(list[0])) continue;
    throw new NodeError(
      "invalid_request",
      `'${param}' is a list of ${list.length}; this node takes at most ${most} (${setting}).`,
      { param },
    );
  }
}
