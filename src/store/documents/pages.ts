/** SQL for paginated lists. */
import type { Database, SQLQueryBindings } from "bun:sqlite";
import { NodeError } from "../../core/errors.ts";
import type { Page, PageRequest } from "../../core/page.ts";
import { quoted } from "../../core/quoted.ts";
import { rowOf, rowsOf } from "../database.ts";
import type { OwnFile } from "../own-file.ts";

export interface Condition {
  where: string;
  values: SQLQueryBindings[];
}

export interface Listing extends Condition {
  from: string;
  /** The column that cursors refer to. */
  id: string;
}

export function pageOf<Row, Item>(
  file: OwnFile,
  { from, id, where, values }: Listing,
  { limit, order, after, before }: PageRequest,
  toItem: (row: Row) => Item,
): Page<Item> {
  const isBackwards = after === undefined && before !== undefined;
  // Items before a cursor are read backwards from it, and reversed at the end.
  const direction = (order === "asc") === isBackwards ? "desc" : "asc";
  const cursors = Object.entries({ after, before }).filter(([, cursor]) => cursor !== undefined);
  const read = (database: Database): Row[] => {
    const seqs = cursors.map(([param, cursor = ""]) => {
      const sql = `select seq from ${from} where ${id} = ? and ${where}`;
      const found = rowOf<{ seq: number }>(database, sql, cursor, ...values);
      if (found !== undefined) return found.seq;
      const why = `'${param}' names nothing of this list: ${quoted(cursor)}.`;
      throw new NodeError("invalid_request", why, { param });
    });
    const beyond = cursors.map(([param]) =>
      (param === "after") === (order === "asc") ? "seq > ?" : "seq < ?",
    );
    // Whole rows are read of the page alone: sorting all of them would take seconds.
    const sql = `select * from ${from} where seq in
      (select seq from ${from} where ${[where, ...beyond].join(" and ")}
       order by seq ${direction} limit ?) order by seq ${direction}`;
    return rowsOf(database, sql, ...values, ...seqs, limit + 1);
  };
  const rows = file.read(read, []);
  const items = rows.slice(0, limit).map(toItem);
  return { items: isBackwards ? items.toReversed() : items, hasMore: rows.length > limit };
}
