/** Two schemas as one that asserts what both do; what cannot be joined is said. */

export type SchemaObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is SchemaObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Keywords that tell people something and assert nothing. */
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

/** The schema without what asserts nothing. */
export function assertions(schema: SchemaObject): SchemaObject {
  return Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => !annotations.has(keyword)),
  );
}

export class Unjoinable extends Error {
  readonly keyword: string;

  constructor(keyword: string) {
    super(`'${keyword}' cannot be joined`);
    this.keyword = keyword;
  }
}

const larger = new Set(["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"]);
const smaller = new Set(["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"]);

export function mergeSchemas(a: SchemaObject, b: SchemaObject): SchemaObject {
  const closes = (schema: SchemaObject): boolean => schema.additionalProperties === false;
  const adds = (schema: SchemaObject, to: SchemaObject): boolean =>
    Object.keys(isObject(schema.properties) ? schema.properties : {}).some(
      (key) => !isObject(to.properties) || !Object.hasOwn(to.properties, key),
    );
  // What one part closes the other may not open.
  if ((closes(a) && adds(b, a)) || (closes(b) && adds(a, b))) {
    throw new Unjoinable("additionalProperties");
  }
  const merged: Record<string, unknown> = { ...assertions(a) };
  for (const [keyword, value] of Object.entries(assertions(b))) {
    merged[keyword] = keyword in merged ? join(keyword, merged[keyword], value) : value;
  }
  return merged;
}

function join(keyword: string, a: unknown, b: unknown): unknown {
  if (JSON.stringify(a) === JSON.stringify(b)) return a;
  if (keyword === "required" && Array.isArray(a) && Array.isArray(b)) {
    return [...new Set([...a, ...b])];
  }
  if (keyword === "properties" && isObject(a) && isObject(b)) return joinProperties(a, b);
  if (keyword === "type" && [a, b].includes("integer") && [a, b].includes("number")) {
    return "integer";
  }
  if (typeof a === "number" && typeof b === "number") {
    if (larger.has(keyword)) return Math.max(a, b);
    if (smaller.has(keyword)) return Math.min(a, b);
  }
  throw new Unjoinable(keyword);
}

function joinProperties(a: SchemaObject, b: SchemaObject): SchemaObject {
  const joined: Record<string, unknown> = { ...a };
  for (const [key, schema] of Object.entries(b)) {
    const other = Object.hasOwn(joined, key) ? joined[key] : true;
    if (other === true) joined[key] = schema;
    else if (isObject(other) && isObject(schema)) joined[key] = mergeSchemas(other, schema);
    else if (schema !== true) throw new Unjoinable(`properties/${key}`);
  }
  return joined;
}

/** Whether no value can validate against both: they differ in type, or in a value that both fix. */
export function areDisjoint(a: SchemaObject, b: SchemaObject): boolean {
  const [values, others] = [fixedValues(a), fixedValues(b)];
  if (values !== undefined && others !== undefined) {
    return values.every((value) => !others.includes(value));
  }
  const [types, otherTypes] = [typesOf(a), typesOf(b)];
  for (const [fixed, allowed] of [
    [values, otherTypes],
    [others, types],
  ] as const) {
    if (fixed === undefined || allowed === undefined) continue;
    const parsed = fixed.map((value): unknown => JSON.parse(value));
    if (parsed.every((value) => !allowed.some((type) => isOfType(value, type)))) return true;
  }
  if (types !== undefined && otherTypes !== undefined) {
    const numbers = (list: readonly unknown[]) => list.map((t) => (t === "integer" ? "number" : t));
    const mine = numbers(types);
    if (!numbers(otherTypes).some((type) => mine.includes(type))) return true;
  }
  if (forbids(a, b) || forbids(b, a)) return true;
  const [mine, theirs] = [a.properties, b.properties];
  if (!isObject(mine) || !isObject(theirs)) return false;
  return Object.entries(mine).some(([key, schema]) => {
    const other = theirs[key];
    const both = [a, b].every(({ required }) => Array.isArray(required) && required.includes(key));
    return both && isObject(schema) && isObject(other) && areDisjoint(schema, other);
  });
}

/** Whether an object schema is closed to a property that another requires. */
function forbids(closed: SchemaObject, other: SchemaObject): boolean {
  if (closed.additionalProperties !== false || !Array.isArray(other.required)) return false;
  const properties = isObject(closed.properties) ? closed.properties : {};
  return other.required.some((key) => !Object.hasOwn(properties, String(key)));
}

function fixedValues(schema: SchemaObject): string[] | undefined {
  if ("const" in schema) return [JSON.stringify(schema.const)];
  return Array.isArray(schema.enum) ? schema.enum.map((value) => JSON.stringify(value)) : undefined;
}

function typesOf({ type }: SchemaObject): readonly unknown[] | undefined {
  return type === undefined ? undefined : Array.isArray(type) ? type : [type];
}

/** Whether a value is of a JSON type. */
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
