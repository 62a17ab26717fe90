/** JSON Schemas before they are compiled: follows references, merges `allOf`, and tells whether options exclude each other. */
import type { NodeError } from "../../core/errors.ts";
import { type Budget, deepestSchema, shown } from "./limits.ts";

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

const unsupported = [
  "not",
  "if",
  "then",
  "else",
  "contains",
  "minContains",
  "maxContains",
  "dependentRequired",
  "dependentSchemas",
  "dependencies",
  "patternProperties",
  "propertyNames",
  "multipleOf",
  "unevaluatedItems",
  "$dynamicRef",
  "$recursiveRef",
];

/** The keys from the schema's root on. */
export type Path = readonly string[];

interface ResolverOptions {
  root: unknown;
  budget: Budget;
  refuse: (path: Path, why: string) => NodeError;
}

export class SchemaResolver {
  readonly #options: ResolverOptions;
  readonly #flattened = new Map<object, SchemaObject>();

  constructor(options: ResolverOptions) {
    this.#options = options;
  }

  /** The schema that asserts what all of them do. */
  join(beside: SchemaObject, parts: readonly unknown[], path: Path, depth: number): SchemaObject {
    return parts
      .map((part) => this.#flatten(part, path, depth))
      .reduce((a, b) => this.#merge(a, b, path), assertions(beside));
  }

  /** A grammar cannot enforce that exactly one option matches, so the options must exclude each other. */
  checkDisjoint(options: readonly unknown[], path: Path): void {
    const schemas = options.map((option) => this.#resolve(option, path));
    if (areAllDisjoint(schemas, this.#options.budget)) return;
    throw this.#options.refuse(path, "has options that one value could match together; use anyOf");
  }

  /** A schema without references and `allOf` at its top. */
  #flatten(part: unknown, path: Path, depth: number): SchemaObject {
    this.#options.budget.spend();
    if (depth > deepestSchema) throw this.#options.refuse(path, "refers to itself");
    const known = isObject(part) ? this.#flattened.get(part) : undefined;
    if (known !== undefined) return known;
    const schema = this.#resolve(part, path);
    this.checkKeywords(schema, path);
    const { allOf, ...own } = schema;
    const flat =
      this.#flattened.get(schema) ??
      (allOf === undefined
        ? own
        : this.list(allOf, [...path, "allOf"])
            .map((inner) => this.#flatten(inner, path, depth + 1))
            .reduce((a, b) => this.#merge(a, b, path), own));
    this.#flattened.set(schema, flat);
    if (isObject(part)) this.#flattened.set(part, flat);
    return flat;
  }

  /** The schema that a reference, and a reference to a reference, stands for. */
  #resolve(part: unknown, path: Path): SchemaObject {
    let target = part;
    for (let steps = 0; isObject(target) && typeof target.$ref === "string"; steps++) {
      const { $ref, ...beside } = assertions(target);
      const found = this.lookUp(String($ref), path);
      if (steps > deepestSchema) throw this.#options.refuse(path, "refers to itself");
      const alone = Object.keys(beside).length === 0 || !isObject(found);
      target = alone ? found : this.#merge(beside, found, path);
    }
    if (target === true) return {};
    if (!isObject(target)) throw this.#options.refuse(path, "holds something that is not a schema");
    return target;
  }

  lookUp(reference: string, path: Path): unknown {
    const { budget, root, refuse } = this.#options;
    budget.spend(1 + Math.floor(reference.length / 64));
    const refused = (why: string): NodeError =>
      refuse([...path, "$ref"], `'${shown(reference)}' ${why}`);
    if (reference !== "#" && !reference.startsWith("#/")) {
      throw refused("points outside of the schema");
    }
    const steps = pointerSteps(reference);
    if (steps === undefined) {
      throw refused("has a % that is not followed by two hexadecimal digits of UTF-8");
    }
    const target = steps.reduce(memberOf, root);
    if (target === undefined) throw refused("points to nothing");
    return target;
  }

  list(value: unknown, path: Path): readonly unknown[] {
    if (!Array.isArray(value) || value.length === 0) {
      throw this.#options.refuse(path, "needs a list of at least one");
    }
    return value;
  }

  checkKeywords(schema: SchemaObject, path: Path): void {
    const keyword = unsupported.find(
      (name) => name in schema && !(name === "propertyNames" && isAnyName(schema[name])),
    );
    if (keyword !== undefined) throw this.#options.refuse([...path, keyword], "is not supported");
  }

  /** The schema that asserts what both do; throws where a keyword cannot be merged. */
  #merge(a: SchemaObject, b: SchemaObject, path: Path): SchemaObject {
    if (a === b) return a;
    // A property that one schema adds must not be forbidden by `additionalProperties` of the other.
    if (closesTo(a, b) || closesTo(b, a)) throw this.#conflict("additionalProperties", path);
    const merged: Record<string, unknown> = { ...assertions(a) };
    for (const [keyword, value] of Object.entries(assertions(b))) {
      this.#options.budget.spend();
      merged[keyword] = Object.hasOwn(merged, keyword)
        ? this.#mergeKeyword(keyword, merged[keyword], value, path)
        : value;
    }
    return merged;
  }

  #mergeKeyword(keyword: string, a: unknown, b: unknown, path: Path): unknown {
    if (this.#options.budget.same(a, b)) return a;
    if (keyword === "required" && Array.isArray(a) && Array.isArray(b)) {
      return [...new Set([...a, ...b])];
    }
    if (keyword === "properties" && isObject(a) && isObject(b)) {
      return this.#mergeProperties(a, b, path);
    }
    if (keyword === "type" && [a, b].includes("integer") && [a, b].includes("number")) {
      return "integer";
    }
    if (typeof a === "number" && typeof b === "number") {
      if (larger.has(keyword)) return Math.max(a, b);
      if (smaller.has(keyword)) return Math.min(a, b);
    }
    throw this.#conflict(keyword, path);
  }

  #mergeProperties(a: SchemaObject, b: SchemaObject, path: Path): SchemaObject {
    const merged: Record<string, unknown> = { ...a };
    for (const [key, schema] of Object.entries(b)) {
      this.#options.budget.spend();
      const other = Object.hasOwn(merged, key) ? merged[key] : true;
      if (other === true) merged[key] = schema;
      else if (isObject(other) && isObject(schema)) merged[key] = this.#merge(other, schema, path);
      else if (schema !== true) throw this.#conflict(`properties/${key}`, path);
    }
    return merged;
  }

  #conflict(keyword: string, path: Path): NodeError {
    return this.#options.refuse(path, `cannot be held together with '${shown(keyword)}' beside it`);
  }
}

const larger = new Set(["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"]);
const smaller = new Set(["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"]);

/** Whether a schema that allows no other properties lacks one that the other has. */
const closesTo = (closed: SchemaObject, other: SchemaObject): boolean =>
  closed.additionalProperties === false &&
  Object.keys(isObject(other.properties) ? other.properties : {}).some(
    (key) => !isObject(closed.properties) || !Object.hasOwn(closed.properties, key),
  );

/** Property names are always strings; libraries say so for every record. */
function isAnyName(schema: unknown): boolean {
  if (schema === true) return true;
  return (
    isObject(schema) &&
    Object.entries(schema).every(([key, value]) => key === "type" && value === "string")
  );
}

/** The keys on a JSON pointer's way; undefined if it is not encoded as one. */
export function pointerSteps(reference: string): string[] | undefined {
  try {
    return reference
      .split("/")
      .slice(1)
      .map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
  } catch {
    return undefined;
  }
}

function memberOf(target: unknown, key: string): unknown {
  if (Array.isArray(target)) return /^(0|[1-9]\d*)$/.test(key) ? target[Number(key)] : undefined;
  if (typeof target !== "object" || target === null || !Object.hasOwn(target, key))
    return undefined;
  return Reflect.get(target, key);
}

function areAllDisjoint(schemas: readonly SchemaObject[], budget: Budget): boolean {
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

function forbids(closed: SchemaObject, other: SchemaObject): boolean {
  if (closed.additionalProperties !== false || !Array.isArray(other.required)) return false;
  const properties = isObject(closed.properties) ? closed.properties : {};
  return other.required.some((key) => typeof key !== "string" || !Object.hasOwn(properties, key));
}

function fixedValues(schema: SchemaObject, budget: Budget): string[] | undefined {
  if ("const" in schema) return [budget.json(schema.const)];
  return Array.isArray(schema.enum) ? schema.enum.map((value) => budget.json(value)) : undefined;
}

function typesOf({ type }: SchemaObject): readonly unknown[] | undefined {
  return type === undefined ? undefined : Array.isArray(type) ? type : [type];
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
