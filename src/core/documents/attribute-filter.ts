/** Filters on the attributes of files. */
import type { DocumentSelection } from "../ports/passage-repository.ts";
import type { Attributes } from "./records.ts";

type Value = string | number | boolean;

export type AttributeFilter =
  | { type: "eq" | "ne" | "gt" | "gte" | "lt" | "lte"; key: string; value: Value }
  | { type: "in" | "nin"; key: string; values: ReadonlySet<Value> }
  | { type: "and" | "or"; filters: readonly AttributeFilter[] };

/** A missing attribute matches `ne` and `nin` alone, and values of two types are neither equal nor in order. */
export function matches(filter: AttributeFilter, attributes: Attributes): boolean {
  switch (filter.type) {
    case "and":
      return filter.filters.every((part) => matches(part, attributes));
    case "or":
      return filter.filters.some((part) => matches(part, attributes));
    case "in":
    case "nin": {
      const value = attributeOf(attributes, filter.key);
      return (value !== undefined && filter.values.has(value)) === (filter.type === "in");
    }
    case "eq":
      return attributeOf(attributes, filter.key) === filter.value;
    case "ne":
      return attributeOf(attributes, filter.key) !== filter.value;
    default:
      return isOrdered(filter.type, attributeOf(attributes, filter.key), filter.value);
  }
}

const attributeOf = (attributes: Attributes, key: string): Value | undefined =>
  Object.hasOwn(attributes, key) ? attributes[key] : undefined;

function isOrdered(
  type: "gt" | "gte" | "lt" | "lte",
  found: Value | undefined,
  wanted: Value,
): boolean {
  if (found === undefined || typeof found !== typeof wanted) return false;
  switch (type) {
    case "gt":
      return found > wanted;
    case "gte":
      return found >= wanted;
    case "lt":
      return found < wanted;
    case "lte":
      return found <= wanted;
  }
}

/** The documents that a filter lets through, as whichever list is shorter. */
export function selectionOf(
  catalogue: ReadonlyMap<string, Attributes>,
  hidden: ReadonlySet<string>,
  filter: AttributeFilter | undefined,
): DocumentSelection {
  if (filter === undefined) return { except: hidden };
  const only = new Set<string>();
  const except = new Set(hidden);
  for (const [document, attributes] of catalogue) {
    if (matches(filter, attributes)) only.add(document);
    else except.add(document);
  }
  return only.size <= except.size ? { only } : { except };
}
