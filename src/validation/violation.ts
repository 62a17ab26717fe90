/** Finds the first place where a value breaks a schema, and says it for a person. */
import { KindGuard, type TSchema, Type } from "@sinclair/typebox";
import { Value, type ValueError, ValueErrorType } from "@sinclair/typebox/value";

export interface Violation {
  /** Keys and indices from the root to the place at fault. */
  path: readonly (string | number)[];
  /** What is allowed there: "a number from 0 to 2". */
  expected: string;
  /** What was found, shortened: "'abc'", "nothing", "a list". */
  found: string;
  kind: "missing" | "unknown" | "wrong";
  /** The keys that the object at fault knows, where the violation is an unknown one. */
  knownKeys: readonly string[];
}

export function findViolation(schema: TSchema, value: unknown): Violation | undefined {
  const error = Value.Errors(schema, value).First();
  return error === undefined ? undefined : toViolation(narrowUnion(error));
}

/** `messages[0].role` */
export function formatPath(path: readonly (string | number)[]): string {
  return path
    .map((part, index) =>
      typeof part === "number" ? `[${part}]` : index === 0 ? part : `.${part}`,
    )
    .join("");
}

function toViolation(error: ValueError): Violation {
  const kind =
    error.type === ValueErrorType.ObjectRequiredProperty
      ? "missing"
      : error.type === ValueErrorType.ObjectAdditionalProperties
        ? "unknown"
        : "wrong";
  return {
    path: parsePointer(error.path),
    expected: describeSchema(error.schema),
    found: describeValue(error.value),
    kind,
    knownKeys: kind === "unknown" ? Object.keys(error.schema.properties ?? {}) : [],
  };
}

/** Follows a failed union into the one variant that the value was meant for, if there is one. */
function narrowUnion(error: ValueError): ValueError {
  if (error.type !== ValueErrorType.Union) return error;
  const variants = error.errors.map((variant) => [...variant]);
  // A variant with another discriminator was not meant; if none was, the discriminator is at fault.
  const meant = variants.filter((errors) => !errors.some(isDiscriminator));
  const [fault] = variants.flatMap((errors) => errors.filter(isDiscriminator));
  if (meant.length === 0 && fault !== undefined) return withAllLiterals(fault, variants.flat());
  const deeper = meant
    .flatMap(([first]) => (first === undefined ? [] : [narrowUnion(first)]))
    .filter((inner) => isInside(inner, error) || isBound(inner));
  // A variant of which only the size is wrong was meant; else the one that failed furthest inside.
  return deeper.find(isBound) ?? deeper.sort((a, b) => depth(b) - depth(a))[0] ?? error;
}

/** The place at fault, with every literal that some variant would have taken there. */
function withAllLiterals(fault: ValueError, errors: readonly ValueError[]): ValueError {
  const literals = errors.filter((error) => isDiscriminator(error) && error.path === fault.path);
  return { ...fault, schema: Type.Union(literals.map(({ schema }) => schema)) };
}

/** How far inside, and how far along a list, a variant failed. */
const depth = ({ path }: ValueError): number =>
  path.split("/").length * 1e6 + Number(/\/(\d+)$/.exec(path)?.[1] ?? 0);

const isInside = (inner: ValueError, outer: ValueError): boolean =>
  inner.path.length > outer.path.length;

/** A literal that tells variants apart says which variant was not meant, not what is wrong. */
const isDiscriminator = ({ schema, type }: ValueError): boolean =>
  KindGuard.IsLiteral(schema) && type === ValueErrorType.Literal;

/** Right type, wrong size: the variant was meant. */
const isBound = ({ type }: ValueError): boolean =>
  [
    ValueErrorType.NumberMinimum,
    ValueErrorType.NumberMaximum,
    ValueErrorType.IntegerMinimum,
    ValueErrorType.IntegerMaximum,
    ValueErrorType.ArrayMinItems,
    ValueErrorType.ArrayMaxItems,
    ValueErrorType.StringMinLength,
    ValueErrorType.StringMaxLength,
    ValueErrorType.StringPattern,
  ].includes(type);

function parsePointer(pointer: string): (string | number)[] {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

function describeSchema(schema: TSchema): string {
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
  return "an object";
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

function quote(value: unknown): string {
  if (typeof value !== "string") return String(value);
  return value.length > longestQuote ? `'${value.slice(0, longestQuote)}…'` : `'${value}'`;
}
