/** Resolves sub-schemas: follows references, merges `allOf`, and tells whether options exclude each other. */
import type { NodeError } from "../../core/errors.ts";
import { shown } from "./containers.ts";
import { type Budget, deepestSchema } from "./limits.ts";
import {
  assertions,
  isObject,
  isOfType,
  type Merging,
  mergeSchemas,
  type SchemaObject,
} from "./schema-merge.ts";

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

type Path = readonly string[];

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
      .reduce((a, b) => mergeSchemas(a, b, this.#merging(path)), assertions(beside));
  }

  /** A grammar cannot enforce that exactly one option matches, so the options must exclude each other. */
  checkDisjoint(options: readonly unknown[], path: Path): void {
    const schemas = options.map((option) => this.#resolve(option, path));
    if (areAllDisjoint(schemas, this.#options.budget)) return;
    throw this.#options.refuse(path, "has options that one value could match together; use anyOf");
  }

  #merging(path: Path): Merging {
    const { budget, refuse } = this.#options;
    const conflict = (keyword: string): NodeError =>
      refuse(path, `cannot be held together with '${shown(keyword)}' beside it`);
    return { budget, conflict };
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
            .reduce((a, b) => mergeSchemas(a, b, this.#merging(path)), own));
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
      target = alone ? found : mergeSchemas(beside, found, this.#merging(path));
    }
    if (target === true) return {};
    if (!isObject(target)) throw this.#options.refuse(path, "holds something that is not a schema");
    return target;
  }

  lookUp(reference: string, path: Path): unknown {
    this.#options.budget.spend(1 + Math.floor(reference.length / 64));
    try {
      return followPointer(this.#options.root, reference);
    } catch (error) {
      if (!(error instanceof BadPointer)) throw error;
      throw this.#options.refuse([...path, "$ref"], `'${shown(reference)}' ${error.message}`);
    }
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
}

/** Property names are always strings; libraries say so for every record. */
function isAnyName(schema: unknown): boolean {
  if (schema === true) return true;
  return (
    isObject(schema) &&
    Object.entries(schema).every(([key, value]) => key === "type" && value === "string")
  );
}

export class BadPointer extends Error {}

export function followPointer(root: unknown, reference: string): unknown {
  if (reference !== "#" && !reference.startsWith("#/")) {
    throw new BadPointer("points outside of the schema");
  }
  let target = root;
  for (const key of pointerSteps(reference)) {
    target = memberOf(target, key);
    if (target === undefined) throw new BadPointer("points to nothing");
  }
  return target;
}

export const pointerSteps = (reference: string): string[] =>
  reference.split("/").slice(1).map(decoded);

function decoded(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    throw new BadPointer("has a % that is not followed by two hexadecimal digits of UTF-8");
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

/** Whether an object schema forbids a property that another requires. */
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
