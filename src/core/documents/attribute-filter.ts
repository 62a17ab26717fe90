/** Filters on the attributes of files; the registry applies them. */

type Value = string | number | boolean;

/** A missing attribute matches `ne` and `nin` alone, and values of two types are neither equal nor in order. */
export type AttributeFilter =
  | { type: "eq" | "ne" | "gt" | "gte" | "lt" | "lte"; key: string; value: Value }
  | { type: "in" | "nin"; key: string; values: ReadonlySet<Value> }
  | { type: "and" | "or"; filters: readonly AttributeFilter[] };
