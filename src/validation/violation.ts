/** Finds the first place where a value breaks a schema, and describes it in plain words. */
import {
  KindGuard,
  type TArray,
  type TObject,
  type TRecord,
  type TSchema,
  Type,
} from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { Value, type ValueError, ValueErrorType } from "@sinclair/typebox/value";

export interface Violation {
  path: readonly (string | number)[];
  /** What is allowed there: "a number from 0 to 2". */
  expected: string;
  /** What was found, shortened: "'abc'", "nothing", "a list". */
  found: string;
  kind: "missing" | "unknown" | "wrong";
  /** The keys that the object allows, if the violation is an unknown key. */
  knownKeys: readonly string[];
}

export function findViolation(schema: TSchema, value: unknown): Violation | undefined {
  const [error] = schemaErrors(schema, value);
  return error === undefined ? undefined : toViolation(narrowUnion(error));
}

/** Keys come from the value, and may be as long as a body. */
const longestKey = 64;

/** `messages[0].role` */
export function formatPath(path: readonly (string | number)[]): string {
  return path
    .map((part, index) => {
      const key = shorten(String(part), longestKey);
      if (/^\d+$/.test(key)) return `[${key}]`;
      return index === 0 ? key : `.${key}`;
    })
    .join("");
}

function toViolation(error: SchemaError): Violation {
  const kind =
    error.type === ValueErrorType.ObjectRequiredProperty
      ? "missing"
      : error.type === ValueErrorType.ObjectAdditionalProperties
        ? "unknown"
        : "wrong";
  return {
    path: error.path,
    expected: describeSchema(error.schema),
    found:
      error.type === ValueErrorType.ObjectMaxProperties
        ? `an object of ${Object.keys(Object(error.value)).length}`
        : describeValue(error.value),
    kind,
    knownKeys: kind === "unknown" ? Object.keys(error.schema.properties ?? {}) : [],
  };
}

/** Follows a failed union into the variant that was meant, if there is one. */
function narrowUnion(error: SchemaError): SchemaError {
  if (error.type !== ValueErrorType.Union) return error;
  const variants = error.variants.map((errors) => errors.take(fewErrors).toArray());
  // A variant with another discriminator was not meant; if none was, the discriminator is at fault.
  // One further inside, as in an item of a list, tells other variants apart.
  const tells = (inner: SchemaError): boolean =>
    isDiscriminator(inner) && inner.path.length <= error.path.length + 1;
  const meant = variants.filter((errors) => !errors.some(tells));
  const [fault] = variants.flatMap((errors) => errors.filter(tells));
  if (meant.length === 0 && fault !== undefined) return withAllLiterals(fault, variants.flat());
  const deeper = meant
    .flatMap(([first]) => (first === undefined ? [] : [narrowUnion(first)]))
    .filter((inner) => isInside(inner, error) || isBound(inner));
  // Prefers a variant with only a wrong size, then the one that failed furthest inside.
  return deeper.find(isBound) ?? deeper.sort((a, b) => depth(b) - depth(a))[0] ?? error;
}

/** Errors examined per variant: a list may have a million, and each takes time. */
const fewErrors = 16;

/** The place at fault, with every literal that some variant allows there. */
function withAllLiterals(fault: SchemaError, errors: readonly SchemaError[]): SchemaError {
  const at = formatPath(fault.path);
  const literals = errors.filter(
    (error) => isDiscriminator(error) && formatPath(error.path) === at,
  );
  return { ...fault, schema: Type.Union(literals.map(({ schema }) => schema)) };
}

/** How far inside, and how far along a list, a variant failed. */
const depth = ({ path }: SchemaError): number => {
  const last = path.at(-1);
  return path.length * 1e6 + (typeof last === "number" ? last : 0);
};

const isInside = (inner: SchemaError, outer: SchemaError): boolean =>
  inner.path.length > outer.path.length;

/** A literal that tells variants apart shows which variant was not meant, not what is wrong. */
const isDiscriminator = ({ schema, type }: SchemaError): boolean =>
  KindGuard.IsLiteral(schema) && type === ValueErrorType.Literal;

/** Right type, wrong size: the variant was meant. */
const isBound = ({ type }: SchemaError): boolean =>
  /M(in|ax)|StringPattern/.test(ValueErrorType[type]);

export function describeSchema(schema: TSchema): string {
  const said: unknown = schema["x-expected"];
  if (typeof said === "string") return said;
  if (KindGuard.IsUnion(schema)) {
    return [...new Set(schema.anyOf.map(describeSchema))].join(" or ");
  }
  if (KindGuard.IsLiteral(schema)) return quote(schema.const);
  if (KindGuard.IsArray(schema)) return `a list${between(schema.minItems, schema.maxItems)}`;
  if (KindGuard.IsString(schema)) {
    return schema.minLength === 1 ? "a string that is not empty" : "a string";
  }
  if (KindGuard.IsInteger(schema)) return `an integer${between(schema.minimum, schema.maximum)}`;
  if (KindGuard.IsNumber(schema)) return `a number${between(schema.minimum, schema.maximum)}`;
  if (KindGuard.IsBoolean(schema)) return "true or false";
  if (KindGuard.IsNull(schema)) return "null";
  if (KindGuard.IsUnknown(schema)) return "anything";
  const { maxProperties }: TSchema = schema;
  return maxProperties === undefined ? "an object" : `an object of at most ${maxProperties} pairs`;
}

function between(least: number | undefined, most: number | undefined): string {
  if (least !== undefined && most !== undefined) return ` from ${least} to ${most}`;
  if (least !== undefined) return ` of at least ${least}`;
  return most === undefined ? "" : ` of at most ${most}`;
}

function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  return quote(value);
}

const longestQuote = 40;

const quote = (value: unknown): string =>
  typeof value === "string" ? `'${shorten(value, longestQuote)}'` : String(value);

const shorten = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most)}…` : text;

interface SchemaError extends Pick<ValueError, "type" | "schema" | "value"> {
  path: readonly (string | number)[];
  variants: readonly Errors[];
}

type Path = SchemaError["path"];
type Errors = Generator<SchemaError, void, undefined>;

/** As TypeBox's `Value.Errors`, which builds a path for every list item: a million valid ones before an invalid one take a second. */
function* schemaErrors(schema: TSchema, value: unknown): Errors {
  if (!checkOf(schema).Check(value)) yield* errorsIn(schema, value, []);
}

/** Expects an invalid value, so that nothing is checked again on each level. */
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
    // A value without items or properties, or of another type altogether.
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
  const keys = Object.keys(value);
  if (keys.length > (schema.maxProperties ?? Number.POSITIVE_INFINITY)) {
    yield { type: ValueErrorType.ObjectMaxProperties, schema, path, value, variants: [] };
  }
  let strange: string | undefined;
  for (const key of keys) {
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

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
