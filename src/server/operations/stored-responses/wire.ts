/** Kept responses between the wire and the domain. */
import type { Page, PageRequest } from "../../../core/page.ts";
import type { KeptResponse } from "../../../core/ports/response-store.ts";
import { quoted } from "../../../core/quoted.ts";
import { redactPaths } from "../../middleware/errors.ts";
import { refuse } from "../../wire/refuse.ts";
import type { Includable } from "../../wire/response-include.ts";
import { shownWith } from "./included.ts";

/** The response as it stands now: its status may have changed since its body was written. */
export function toStoredResponse(
  { body, status, failure }: KeptResponse,
  include?: readonly Includable[],
): object {
  return {
    error: null,
    ...shownWith(body, include),
    status,
    ...(failure === undefined
      ? {}
      : { error: { code: failure.code, message: redactPaths(failure.message) } }),
  };
}

/** A page of a list that is whole in memory, in the order of its items; cursors are their ids. */
export function pageOfItems<Item extends { id: string }>(
  items: readonly Item[],
  { limit, order, after, before }: PageRequest,
): Page<Item> {
  const ordered = order === "asc" ? items : items.toReversed();
  const from = after === undefined ? 0 : placeOf(ordered, "after", after) + 1;
  const to = before === undefined ? ordered.length : placeOf(ordered, "before", before);
  const isBackwards = after === undefined && before !== undefined;
  const start = isBackwards ? Math.max(from, to - limit) : from;
  const end = Math.max(start, isBackwards ? to : Math.min(to, start + limit));
  return {
    items: ordered.slice(start, end),
    hasMore: isBackwards ? start > from : end < to,
  };
}

function placeOf(items: readonly { id: string }[], param: string, cursor: string): number {
  const place = items.findIndex(({ id }) => id === cursor);
  if (place === -1) throw refuse(param, `names nothing of this list: ${quoted(cursor)}`);
  return place;
}
