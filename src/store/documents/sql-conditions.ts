/** SQL for paginated lists and attribute filters. */
import type { Database, SQLQueryBindings } from "bun:sqlite";
import type { AttributeFilter } from "../../core/documents/records.ts";
import { NodeError } from "../../core/errors.ts";
import type { Page, PageRequest } from "../../core/page.ts";
import { quoted } from "../../core/quoted.ts";
import { type OwnFile, rowOf, rowsOf } from "../database.ts";

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
    const sql = `select * from ${from} where ${[where, ...beyond].join(" and ")}
      order by seq ${direction} limit ?`;
    return rowsOf(database, sql, ...values, ...seqs, limit + 1);
  };
  const rows = file.read(read, []);
  const items = rows.slice(0, limit).map(toItem);
  return { items: isBackwards ? items.toReversed() : items, hasMore: rows.length > limit };
}

type Value = string | number | boolean;

const jsonTypes = {
  string: "('text')",
  number: "('integer', 'real')",
  boolean: "('true', 'false')",
} as const;

const operators = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

/** An attribute filter as a condition on files in vector stores. */
export function conditionOf(filter: AttributeFilter): Condition {
  switch (filter.type) {
    case "and":
    case "or": {
      const parts = filter.filters.map(conditionOf);
      const where = parts.map((part) => part.where).join(` ${filter.type} `);
      return { where: `(${where})`, values: parts.flatMap(({ values }) => values) };
    }
    case "eq":
      return isAmong(filter.key, [filter.value]);
    case "ne":
      return not(isAmong(filter.key, [filter.value]));
    case "in":
      return isAmong(filter.key, [...filter.values]);
    case "nin":
      return not(isAmong(filter.key, [...filter.values]));
    default: {
      const { type, key, value } = filter;
      const types = jsonTypes[kindOf(value)];
      const fits = `type in ${types} and atom ${operators[type]} (select atom from json_each(?))`;
      return hasAttribute(key, { where: fits, values: [JSON.stringify([value])] });
    }
  }
}

function isAmong(key: string, wanted: readonly Value[]): Condition {
  const kinds = [...new Set(wanted.map(kindOf))];
  return hasAttribute(key, {
    where: kinds
      .map((kind) => `type in ${jsonTypes[kind]} and atom in (select atom from json_each(?))`)
      .join(" or "),
    values: kinds.map((kind) => JSON.stringify(wanted.filter((value) => kindOf(value) === kind))),
  });
}

/** The wanted value is passed as JSON too, so that both sides are parsed alike, down to the last digit. */
const hasAttribute = (key: string, { where, values }: Condition): Condition => ({
  where: `exists (select 1 from json_each(attributes)
    where key = (select atom from json_each(?)) and (${where}))`,
  values: [JSON.stringify([key]), ...values],
});

const not = ({ where, values }: Condition): Condition => ({ where: `not ${where}`, values });

function kindOf(value: Value): keyof typeof jsonTypes {
  if (typeof value === "string") return "string";
  return typeof value === "number" ? "number" : "boolean";
}
