/** A filter on attributes as a condition on rows of files in vector stores. */
import type { AttributeFilter } from "../../core/documents/attribute-filter.ts";

export interface Condition {
  where: string;
  /** What stands for its question marks, in order. */
  values: string[];
}

type Value = string | number | boolean;

/** As SQLite calls the types of JSON. */
const jsonTypes = {
  string: "('text')",
  number: "('integer', 'real')",
  boolean: "('true', 'false')",
} as const;

const operators = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

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

/** What is wanted comes as JSON too: both sides are read alike, down to the last digit. */
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
