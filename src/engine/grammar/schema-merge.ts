/** Merges two schemas into one that asserts what both do; throws where a keyword cannot be merged. */
import type { Budget } from "./limits.ts";

export type SchemaObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is SchemaObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const annotations = new Set([
  "title",
  "description",
  "default",
  "examples",
  "example",
  "deprecated",
  "readOnly",
  "writeOnly",
  "$schema",
  "$id",
  "$anchor",
  "$comment",
  "$defs",
  "definitions",
]);

export function assertions(schema: SchemaObject): SchemaObject {
  return Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => !annotations.has(keyword)),
  );
}

export interface Merging {
  budget: Budget;
  conflict: (keyword: string) => Error;
}

const larger = new Set(["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"]);
const smaller = new Set(["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"]);

export function mergeSchemas(a: SchemaObject, b: SchemaObject, merging: Merging): SchemaObject {
  if (a === b) return a;
  const closes = (schema: SchemaObject): boolean => schema.additionalProperties === false;
  const adds = (schema: SchemaObject, to: SchemaObject): boolean =>
    Object.keys(isObject(schema.properties) ? schema.properties : {}).some(
      (key) => !isObject(to.properties) || !Object.hasOwn(to.properties, key),
    );
  // A property that one schema adds must not be forbidden by `additionalProperties` of the other.
  if ((closes(a) && adds(b, a)) || (closes(b) && adds(a, b))) {
    throw merging.conflict("additionalProperties");
  }
  const merged: Record<string, unknown> = { ...assertions(a) };
  for (const [keyword, value] of Object.entries(assertions(b))) {
    merging.budget.spend();
    merged[keyword] = Object.hasOwn(merged, keyword)
      ? join(keyword, merged[keyword], value, merging)
      : value;
  }
  return merged;
}

function join(keyword: string, a: unknown, b: unknown, merging: Merging): unknown {
  if (merging.budget.same(a, b)) return a;
  if (keyword === "required" && Array.isArray(a) && Array.isArray(b)) {
    return [...new Set([...a, ...b])];
  }
  if (keyword === "properties" && isObject(a) && isObject(b)) return joinProperties(a, b, merging);
  if (keyword === "type" && [a, b].includes("integer") && [a, b].includes("number")) {
    return "integer";
  }
  if (typeof a === "number" && typeof b === "number") {
    if (larger.has(keyword)) return Math.max(a, b);
    if (smaller.has(keyword)) return Math.min(a, b);
  }
  throw merging.conflict(keyword);
}

function joinProperties(a: SchemaObject, b: SchemaObject, merging: Merging): SchemaObject {
  const joined: Record<string, unknown> = { ...a };
  for (const [key, schema] of Object.entries(b)) {
    merging.budget.spend();
    const other = Object.hasOwn(joined, key) ? joined[key] : true;
    if (other === true) joined[key] = schema;
    else if (isObject(other) && isObject(schema))
      joined[key] = mergeSchemas(other, schema, merging);
    else if (schema !== true) throw merging.conflict(`properties/${key}`);
  }
  return joined;
}

export function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
