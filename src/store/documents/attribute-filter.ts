/** Whether a file's attributes match a filter. Not in SQL: 64 conditions on each file's JSON would take a thread for a second where files are many. */
import type { AttributeFilter, Attributes } from "../../core/documents/records.ts";

type Value = Attributes[string];

export function matches(filter: AttributeFilter, attributes: Attributes): boolean {
  switch (filter.type) {
    case "and":
      return filter.filters.every((part) => matches(part, attributes));
    case "or":
      return filter.filters.some((part) => matches(part, attributes));
    default:
      break;
  }
  const { type, key } = filter;
  // Not what objects have by nature, such as "constructor".
  const found = Object.hasOwn(attributes, key) ? attributes[key] : undefined;
  if (found === undefined) return type === "ne" || type === "nin";
  switch (type) {
    case "eq":
      return found === filter.value;
    case "ne":
      return found !== filter.value;
    case "in":
      return filter.values.has(found);
    case "nin":
      return !filter.values.has(found);
    default:
      return typeof found === typeof filter.value && orders[type](found, filter.value);
  }
}

const orders = {
  gt: (found: Value, wanted: Value) => found > wanted,
  gte: (found: Value, wanted: Value) => found >= wanted,
  lt: (found: Value, wanted: Value) => found < wanted,
  lte: (found: Value, wanted: Value) => found <= wanted,
} as const;
