/** Pagination as in the OpenAI API: query parameters, page schemas and cursors. */
import { Type as T, type TProperties, type TSchema } from "@sinclair/typebox";
import { given } from "../../core/given.ts";
import type { Page, PageRequest } from "../../core/page.ts";
import { quoted } from "../../core/quoted.ts";
import { integer, oneOf, optional, orNull, refuse } from "./fields.ts";

/** Query parameters of a list; `more`: those of one operation. */
export const pageQuery = <More extends TProperties>(more: More, most = 100, usual = usualLimit) =>
  T.Object({
    limit: optional(integer(1, most), "Most items of the page.", usual),
    order: optional(oneOf(["asc", "desc"]), "By creation time; `desc`: newest first.", "desc"),
    after: optional(T.String(), "An item's id: the page after it."),
    before: optional(T.String(), "An item's id: the page before it."),
    ...more,
  });

const usualLimit = 20;

export function toPageRequest(
  { limit, order = "desc", after, before }: Partial<PageRequest>,
  usual = usualLimit,
): PageRequest {
  return { limit: limit ?? usual, order, ...given({ after, before }) };
}

export const pageSchema = <Item extends TSchema>(item: Item) =>
  T.Object({
    object: T.Literal("list"),
    data: T.Array(item),
    first_id: orNull(T.String()),
    last_id: orNull(T.String()),
    has_more: T.Boolean({ description: "Whether there is another page in this direction." }),
  });

export function toPage<Item, Shown extends { id: string }>(
  { items, hasMore }: Page<Item>,
  toWire: (item: Item) => Shown,
) {
  const data = items.map(toWire);
  return {
    object: "list" as const,
    data,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}

export const pageAnswer = <Item extends { id: string }>(
  name: string,
  item: TSchema,
  what: string,
  example: Item,
) => ({
  name,
  schema: pageSchema(item),
  description: `A page of ${what}.`,
  example: toPage({ items: [example], hasMore: false }, (one: Item) => one),
});

export const deletedAnswer = (
  name: string,
  object: string,
  id: string,
  description = "It is deleted.",
) => ({
  name,
  schema: T.Object({ id: T.String(), object: T.Literal(object), deleted: T.Literal(true) }),
  description,
  example: { id, object, deleted: true },
});

/** Tells OpenAI's clients how soon to poll; without it, they wait five seconds. */
const header = "openai-poll-after-ms";
const pollMs = 250;

export function tellWhenToPoll(
  status: string,
  { headers }: { headers: Record<string, string | number> },
): void {
  if (status === "in_progress") headers[header] = pollMs;
}

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
  if (place === -1) throw refuse(param, `is not the id of an item of this list: ${quoted(cursor)}`);
  return place;
}
