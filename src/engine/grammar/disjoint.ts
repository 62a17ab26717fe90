/** Whether schemas exclude each other, as oneOf asks for. */
import type { Budget } from "./budget.ts";
import { isObject, isOfType, type SchemaObject } from "./schema-merge.ts";

/** Whether no value can validate against two of the schemas. */
export function areAllDisjoint(schemas: readonly SchemaObject[], budget: Budget): boolean {
  const fixed = schemas.filter(isFixed);
  const values = fixed.map((schema) => new Set(fixedValues(schema, budget)));
  const distinct = new Set(values.flatMap((own) => [...own]));
  if (distinct.size < values.reduce((sum, own) => sum + own.size, 0)) return false;
  const free = schemas.filter((schema) => !isFixed(schema));
  return free.every(
    (schema, at) =>
      fixed.every((other) => areDisjoint(schema, other, budget)) &&
      free.every((other, second) => second <= at || areDisjoint(schema, other, budget)),
  );
}

const isFixed = (schema: SchemaObject): boolean => "const" in schema || Array.isArray(schema.enum);

/** Whether no value can validate against both: they differ in type, or in a value that both fix. */
function areDisjoint(a: SchemaObject, b: SchemaObject, budget: Budget): boolean {
  budget.spend();
  const [values, others] = [fixedValues(a, budget), fixedValues(b, budget)];
  if (values !== undefined && others !== undefined) {
    const known = new Set(others);
    return values.every((value) => !known.has(value));
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
    const mine = new Set(numbers(types));
    if (!numbers(otherTypes).some((type) => mine.has(type))) return true;
  }
  if (forbids(a, b) || forbids(b, a)) return true;
  const [mine, theirs] = [a.properties, b.properties];
  if (!isObject(mine) || !isObject(theirs)) return false;
  const [required, alsoRequired] = [requiredOf(a), requiredOf(b)];
  budget.spend(required.size + alsoRequired.size);
  return [...required].some((key) => {
    if (typeof key !== "string" || !alsoRequired.has(key)) return false;
    const [schema, other] = [mine, theirs].map((properties) =>
      Object.hasOwn(properties, key) ? properties[key] : undefined,
    );
    return isObject(schema) && isObject(other) && areDisjoint(schema, other, budget);
  });
}

const requiredOf = ({ required }: SchemaObject): Set<unknown> =>
  new Set(Array.isArray(required) ? required : []);

/** Whether an object schema is closed to a property that another requires. */
function forbids(closed: SchemaObject, other: SchemaObject): boolean {
  if (closed.additionalProperties !== false || !Array.isArray(other.required)) return false;
  const properties = isObject(closed.properties) ? closed.properties : {};
  return other.required.some((key) => !Object.hasOwn(properties, String(key)));
}

function fixedValues(schema: SchemaObject, budget: Budget): string[] | undefined {
  if ("const" in schema) return [budget.json(schema.const)];
  return Array.isArray(schema.enum) ? schema.enum.map((value) => budget.json(value)) : undefined;
}

function typesOf({ type }: SchemaObject): readonly unknown[] | undefined {
  return type === undefined ? undefined : Array.isArray(type) ? type : [type];
}
