/** Finds the first place where a value breaks a schema, and says it for a person. */
import { KindGuard, type TSchema, Type } from "@sinclair/typebox";
import { ValueErrorType } from "@sinclair/typebox/value";
import { type SchemaError, schemaErrors } from "./schema-errors.ts";

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
  const [error] = schemaErrors(schema, value);
  return error === undefined ? undefined : toViolation(narrowUnion(error));
}

/** A key may be as long as the value that it is in. */
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
    found: describeValue(error.value),
    kind,
    knownKeys: kind === "unknown" ? Object.keys(error.schema.properties ?? {}) : [],
  };
}

/** Follows a failed union into the one variant that the value was meant for, if there is one. */
function narrowUnion(error: SchemaError): SchemaError {
  if (error.type !== ValueErrorType.Union) return error;
  const variants = error.variants.map(firstOf);
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

/** What a variant is judged by: a list may have a million errors, and each costs. */
const fewErrors = 16;

function firstOf(errors: Iterable<SchemaError>): SchemaError[] {
  const first: SchemaError[] = [];
  for (const error of errors) if (first.push(error) === fewErrors) break;
  return first;
}

/** The place at fault, with every literal that some variant would have taken there. */
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

/** A literal that tells variants apart says which variant was not meant, not what is wrong. */
const isDiscriminator = ({ schema, type }: SchemaError): boolean =>
  KindGuard.IsLiteral(schema) && type === ValueErrorType.Literal;

/** Right type, wrong size: the variant was meant. */
const isBound = ({ type }: SchemaError): boolean =>
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

const quote = (value: unknown): string =>
  typeof value === "string" ? `'${shorten(value, longestQuote)}'` : String(value);

const shorten = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most)}…` : text;
