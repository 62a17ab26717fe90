/** Schema helpers for request fields, imported as `f`: accepted, ignored or rejected. */
import {
  type ObjectOptions,
  type SchemaOptions,
  type Static,
  Type as T,
  type TProperties,
  type TSchema,
} from "@sinclair/typebox";
import { NodeError } from "../../core/errors.ts";
import { type Given, given } from "../../core/given.ts";

/** Unknown fields are allowed, and named in the header `x-paddock-ignored`. */
export const openObject = <Fields extends TProperties>(
  fields: Fields,
  options: ObjectOptions = {},
) => T.Object(fields, { additionalProperties: true, ...options });

export const orNull = <Schema extends TSchema>(schema: Schema, options: SchemaOptions = {}) =>
  T.Union([schema, T.Null()], options);

export function optional<Schema extends TSchema>(
  schema: Schema,
  description: string,
  fallback?: unknown,
) {
  const described: Schema = { ...schema, ...given({ description, default: fallback }) };
  return T.Optional(described);
}

/** May be null, which means absent. The description is the argument, or the schema's own. */
export const nullable = <Schema extends TSchema>(
  schema: Schema,
  description?: string,
  fallback?: unknown,
) => T.Optional(orNull(schema, given({ description, default: fallback })));

export const flag = (description: string, fallback?: boolean) =>
  nullable(T.Boolean(), description, fallback);

export const oneOf = <const Name extends string>(
  names: readonly Name[],
  options: SchemaOptions = {},
) =>
  T.Union(
    names.map((name) => T.Literal(name)),
    options,
  );

export const integer = (minimum: number, maximum?: number) =>
  T.Integer({ minimum, ...given({ maximum }) });

export const number = (minimum: number, maximum: number) => T.Number({ minimum, maximum });

export const count = (description?: string) => T.Integer({ minimum: 0, ...given({ description }) });

export const nonEmpty = T.String({ minLength: 1 });

/** The field `model`; `what`: the models that it may name. */
export const modelName = (what: string) =>
  T.String({ minLength: 1, description: `Name of ${what} of this node.` });

/** The description of a field that has an image's address. */
export const imageAddress =
  "A `data:` address with a PNG, JPEG, WebP or GIF image in base64, of at most `limits.max_image_bytes`; or an `http(s)` address, which the model's server fetches and this node never does.";

export const UnixTime = T.Integer({ description: "Unix time in seconds." });

export const JsonSchema = T.Record(T.String(), T.Unknown());

/** The name of a tool, of at most so many characters. */
export const toolName = (most: number, description: string) =>
  T.String({
    description,
    pattern: `^[A-Za-z0-9_-]{1,${most}}$`,
    "x-expected": `1 to ${most} letters, digits, '_' or '-'`,
  });

/** How a field, or one of its values, is handled if it has no effect. */
export interface FieldUse {
  kind: "accepted" | "ignored" | "rejected";
  /** A sentence; for a rejected field, the error message after the field's name. */
  why: string;
  /** Whether a value is accepted nevertheless; `parent`: the object that the field is in. */
  unless?: (value: unknown, parent: object) => boolean;
  /** The values of `unless`, for the documentation. */
  except?: string;
}

type UseOptions = Pick<FieldUse, "unless" | "except">;

/** Schema keywords. They are symbols, so that the OpenAPI document has only the descriptions. */
const useKey = Symbol("use");
const unexaminedKey = Symbol("unexamined");
const readAsKey = Symbol("read as");

/** The answer does not depend on the field. */
export const accepted = (why: string) => T.Optional(acceptedAs(T.Unknown(), why));

export const acceptedAs = <Schema extends TSchema>(schema: Schema, why: string): Schema =>
  annotated(schema, { kind: "accepted", why }, `Accepted without effect. ${why}`);

/** The node ignores the field, and the header `x-paddock-ignored` names it. */
export const ignored = (why: string, options?: UseOptions) =>
  T.Optional(ignoredAs(T.Unknown(), why, options));

/** `ignored` for a field whose values are validated, or for one value among others. */
export const ignoredAs = <Schema extends TSchema>(
  schema: Schema,
  why: string,
  options: UseOptions = {},
): Schema => annotated(schema, { kind: "ignored", why, ...options }, `Ignored. ${why}`);

/** Ignoring the field would change the answer: a 400. `why` continues "'field' …". */
export const rejected = (why: string, options?: UseOptions) =>
  T.Optional(rejectedAs(T.Unknown(), why, options));

export const rejectedAs = <Schema extends TSchema>(
  schema: Schema,
  why: string,
  options: UseOptions = {},
): Schema => annotated(schema, { kind: "rejected", why, ...options }, `Rejected: it ${why}.`);

function annotated<Schema extends TSchema>(schema: Schema, use: FieldUse, text: string): Schema {
  const description = use.except === undefined ? text : `${text} Accepted: ${use.except}.`;
  return { ...schema, description, [useKey]: use };
}

/** Accepts an object without examining its fields. */
export const unexamined = <Schema extends TSchema>(schema: Schema): Schema => ({
  ...schema,
  [unexaminedKey]: true,
});

interface ReadAs {
  schema: TSchema;
  /** How an object that matches no variant is handled; default: it is not reported. */
  others: "unsaid" | "ignored";
}

/**
 * An object whose fields depend on its type: the schema allows any, and `variants` say which are
 * known and how each is handled. Missing fields are reported where the object is read.
 */
export const readAs = <Schema extends TSchema>(
  schema: Schema,
  variants: readonly TSchema[],
  others: ReadAs["others"] = "unsaid",
): Schema => ({
  ...schema,
  [readAsKey]: { schema: T.Union([...variants]), others } satisfies ReadAs,
});

export const useOf = (schema: TSchema): FieldUse | undefined => Reflect.get(schema, useKey);
export const isUnexamined = (schema: TSchema): boolean => Reflect.has(schema, unexaminedKey);
export const readingOf = (schema: TSchema): ReadAs | undefined => Reflect.get(schema, readAsKey);

/** The error for an invalid field. `why` continues after the field's name: "is not JSON". */
export const refuse = (param: string, why: string): NodeError =>
  new NodeError("invalid_request", `'${param}' ${why}.`, { param });

/** The value of a field that its schema lets be absent; rejects the request without it. */
export function required<Value>(value: Value, param: string, what: string): NonNullable<Value> {
  if (value === null || value === undefined) throw refuse(param, `is required: ${what}`);
  return value;
}

type NonNull<Fields> = {
  [Key in keyof Fields]: Exclude<Fields[Key], null> | NullAsUndefined<Fields[Key]>;
};

type NullAsUndefined<Value> = null extends Value ? undefined : never;

/** Removes fields that are null or undefined; 0, false and "" stay. */
export function withoutNulls<Fields extends object>(fields: Fields): Given<NonNull<Fields>>;
export function withoutNulls(fields: object): object {
  const entries = Object.entries(fields).map(([key, value]) => [key, value ?? undefined]);
  return given(Object.fromEntries(entries));
}

/** Unix time in whole seconds, as in the OpenAI API. */
export const toSeconds = (date: Date): number => Math.floor(date.getTime() / 1000);

export const secondsNow = (): number => toSeconds(new Date());

export const ErrorAnswer = T.Object(
  {
    error: T.Object({
      message: T.String({ description: "What happened and what to do, for a person." }),
      type: T.String(),
      param: orNull(T.String(), { description: "The request field at fault." }),
      code: orNull(T.String(), { description: "The reason, for a program." }),
    }),
  },
  { description: "What went wrong." },
);

export type ErrorAnswer = Static<typeof ErrorAnswer>;

type Input = string | number[];

/** Whether this is a single input, a text or a list of token ids, and not a list of inputs. */
export const isOneInput = (
  input: Input | readonly (string | number | number[])[],
): input is Input => typeof input === "string" || typeof input[0] === "number";

export const inputsOf = (input: Input | readonly (string | number | number[])[]): Input[] =>
  isOneInput(input) ? [input] : input.flatMap((one) => (typeof one === "number" ? [] : [one]));
