/** One page of a table, between cursors that are ids. */
import type { Database, SQLQueryBindings } from "bun:sqlite";
import { NodeError } from "../../core/errors.ts";
import type { Page, PageRequest } from "../../core/page.ts";
import { quoted } from "../../core/quoted.ts";

export interface Listing {
  /** Name of the table. */
  from: string;
  /** The column that cursors name. */
  id: string;
  /** Conditions on the rows, all of which hold. */
  where: readonly string[];
  /** What stands for their question marks, in order. */
  values: readonly SQLQueryBindings[];
}

export function pageOf<Row>(
  database: Database,
  { from, id, where, values }: Listing,
  { limit, order, after, before }: PageRequest,
): Page<Row> {
  const isBackwards = after === undefined && before !== undefined;
  // Of what is in front of a cursor, the nearest come first, and are turned round in the end.
  const direction = (order === "asc") === isBackwards ? "desc" : "asc";
  const conditions = [...where];
  const bound = [...values];
  for (const [param, cursor] of Object.entries({ after, before })) {
    if (cursor === undefined) continue;
    const place = ["1 = 1", ...where].join(" and ");
    const found = database
      .query<{ seq: number }, SQLQueryBindings[]>(
        `select seq from ${from} where ${id} = ? and ${place}`,
      )
      .get(cursor, ...values);
    if (found === null) throw noSuchCursor(param, cursor);
    const isGreater = (param === "after") === (order === "asc");
    conditions.push(`seq ${isGreater ? ">" : "<"} ?`);
    bound.push(found.seq);
  }
  const rows = database
    .query<Row, SQLQueryBindings[]>(
      `select * from ${from} where ${["1 = 1", ...conditions].join(" and ")}
       order by seq ${direction} limit ?`,
    )
    .all(...bound, limit + 1);
  const items = rows.slice(0, limit);
  return { items: isBackwards ? items.toReversed() : items, hasMore: rows.length > limit };
}

const noSuchCursor = (param: string, cursor: string): NodeError =>
  new NodeError("invalid_request", `'${param}' names nothing of this list: ${quoted(cursor)}.`, {
    param,
  });
