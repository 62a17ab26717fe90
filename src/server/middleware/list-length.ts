/** Refuses lists of a request that are longer than the node takes. */
import { NodeError } from "../../core/errors.ts";

/** How many items lists may have. */
export interface ListLimits {
  maxMessages: number;
  maxInputs: number;
}

export interface ListBound {
  /** The field that is a list. */
  param: string;
  limit: keyof ListLimits;
  /** Whether the bound is for such a list, by its first item; default: for every one. */
  isFor?: (first: unknown) => boolean;
}

/** Names of the limits in the configuration. */
const settings: Readonly<Record<keyof ListLimits, string>> = {
  maxMessages: "limits.max_messages",
  maxInputs: "limits.max_inputs",
};

/** Looks at lengths only: nothing in a list counts before it is known not to be too long. */
export function checkLists(body: unknown, bounds: readonly ListBound[], limits: ListLimits): void {
  for (const { param, limit, isFor = () => true } of bounds) {
    const list: unknown = Object(body)[param];
    const most = limits[limit];
    if (!Array.isArray(list) || list.length <= most || !isFor(list[0])) continue;
    throw new NodeError(
      "invalid_request",
      `'${param}' is a list of ${list.length}; this node takes at most ${most} (${settings[limit]}).`,
      { param },
    );
  }
}
