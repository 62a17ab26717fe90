/** Where a value breaks a schema, found as it is asked for: what fits is passed over at a compiled check's speed. */
import {
  KindGuard,
  type TArray,
  type TObject,
  type TRecord,
  type TSchema,
} from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { Value, type ValueError, ValueErrorType } from "@sinclair/typebox/value";

export interface SchemaError extends Pick<ValueError, "type" | "schema" | "value"> {
  /** Keys and indices from the root. */
  path: readonly (string | number)[];
  /** Of a union: the errors of each variant. */
  variants: readonly Iterable<SchemaError>[];
}

type Path = SchemaError["path"];
type Errors = Generator<SchemaError, void, undefined>;

/**
 * The errors that TypeBox's `Value.Errors` has, in its order. That one interprets the schema and
 * writes down a path for every item of a list: a million good items before a bad one take a second.
 */
export function* schemaErrors(schema: TSchema, value: unknown): Errors {
  if (!checkOf(schema).Check(value)) yield* errorsIn(schema, value, []);
}

/** Of a value that does not fit, so that nothing is looked at again on each level. */
function* errorsIn(schema: TSchema, value: unknown, path: Path): Errors {
  if (KindGuard.IsUnion(schema)) {
    const variants = schema.anyOf.map((variant) => errorsIn(variant, value, path));
    yield { type: ValueErrorType.Union, schema, path, value, variants };
  } else if (KindGuard.IsArray(schema) && Array.isArray(value)) {
    yield* listErrors(schema, value, path);
  } else if (KindGuard.IsObject(schema) && isObject(value)) {
    yield* objectErrors(schema, value, path);
  } else if (KindGuard.IsRecord(schema) && isObject(value)) {
    yield* recordErrors(schema, value, path);
  } else {
    // What has nothing inside, or is of another type altogether.
    const error = Value.Errors(schema, value).First();
    if (error !== undefined) yield { type: error.type, schema, path, value, variants: [] };
  }
}

function* listErrors(schema: TArray, value: readonly unknown[], path: Path): Errors {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, items } = schema;
  const bound = { schema, path, value, variants: [] };
  if (value.length < minItems) yield { ...bound, type: ValueErrorType.ArrayMinItems };
  if (value.length > maxItems) yield { ...bound, type: ValueErrorType.ArrayMaxItems };
  const check = checkOf(items);
  for (let index = 0; index < value.length; index++) {
    const item = value[index];
    if (!check.Check(item)) yield* errorsIn(items, item, [...path, index]);
  }
}

function* objectErrors(schema: TObject, value: Record<string, unknown>, path: Path): Errors {
  const { properties, required = [], additionalProperties } = schema;
  for (const key of required) {
    const property = properties[key];
    if (property === undefined || Object.hasOwn(value, key)) continue;
    const type = ValueErrorType.ObjectRequiredProperty;
    yield { type, schema: property, path: [...path, key], value: undefined, variants: [] };
  }
  if (additionalProperties === false) {
    for (const key of Object.keys(value)) {
      if (Object.hasOwn(properties, key)) continue;
      const type = ValueErrorType.ObjectAdditionalProperties;
      yield { type, schema, path: [...path, key], value: value[key], variants: [] };
    }
  }
  for (const [key, property] of Object.entries(properties)) {
    if (!required.includes(key) && value[key] === undefined) continue;
    if (checkOf(property).Check(value[key])) continue;
    yield* errorsIn(property, value[key], [...path, key]);
  }
}

function* recordErrors(schema: TRecord, value: Record<string, unknown>, path: Path): Errors {
  const [[pattern, values] = []] = Object.entries(schema.patternProperties);
  if (pattern === undefined || values === undefined) return;
  const isKey = new RegExp(pattern);
  const check = checkOf(values);
  let strange: string | undefined;
  for (const key of Object.keys(value)) {
    const item = value[key];
    if (!isKey.test(key)) strange ??= key;
    else if (!check.Check(item)) yield* errorsIn(values, item, [...path, key]);
  }
  if (schema.additionalProperties !== false || strange === undefined) return;
  const type = ValueErrorType.ObjectAdditionalProperties;
  yield { type, schema, path: [...path, strange], value: value[strange], variants: [] };
}

const checks = new WeakMap<TSchema, TypeCheck<TSchema>>();

function checkOf(schema: TSchema): TypeCheck<TSchema> {
  const known = checks.get(schema);
  if (known !== undefined) return known;
  const check = TypeCompiler.Compile(schema);
  checks.set(schema, check);
  return check;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
