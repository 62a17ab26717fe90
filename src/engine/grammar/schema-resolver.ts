/** Resolves sub-schemas: follows references and merges `allOf`, each once. */
import type { NodeError } from "../../core/errors.ts";
import { type Budget, deepestSchema } from "./budget.ts";
import { areAllDisjoint } from "./disjoint.ts";
import { shown } from "./place.ts";
import {
  assertions,
  isObject,
  mergeSchemas,
  type SchemaObject,
  Unjoinable,
} from "./schema-merge.ts";
import { BadPointer, followPointer } from "./schema-pointer.ts";

/** Keywords that a grammar cannot enforce. */
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
    return this.#merge(path, () =>
      parts
        .map((part) => this.#flatten(part, path, depth))
        .reduce((a, b) => mergeSchemas(a, b, this.#options.budget), assertions(beside)),
    );
  }

  /** A grammar cannot enforce that exactly one option matches, so the options must exclude each other. */
  checkDisjoint(options: readonly unknown[], path: Path): void {
    const schemas = this.#merge(path, () => options.map((option) => this.#resolve(option, path)));
    if (areAllDisjoint(schemas, this.#options.budget)) return;
    throw this.#options.refuse(path, "has options that one value could match together; use anyOf");
  }

  /** Runs a merge; schemas that cannot be merged are refused. */
  #merge<Made>(path: Path, merge: () => Made): Made {
    try {
      return merge();
    } catch (error) {
      if (!(error instanceof Unjoinable)) throw error;
      throw this.#options.refuse(
        path,
        `cannot be held together with '${shown(error.keyword)}' beside it`,
      );
    }
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
            .reduce((a, b) => mergeSchemas(a, b, this.#options.budget), own));
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
      target = alone ? found : mergeSchemas(beside, found, this.#options.budget);
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

/** Names are texts anyway; libraries say so of every record. */
function isAnyName(schema: unknown): boolean {
  if (schema === true) return true;
  return (
    isObject(schema) &&
    Object.entries(schema).every(([key, value]) => key === "type" && value === "string")
  );
}
