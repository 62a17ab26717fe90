/** Fields of requests: how schemas write them, and what they say of those that the node does not act on. */
import { type SchemaOptions, type Static, Type as T, type TSchema } from "@sinclair/typebox";
import { NodeError } from "../../core/errors.ts";
import { type Given, given } from "../../core/given.ts";

/** Unknown fields are let in, and the header `x-paddock-ignored` names them. */
export const open = { additionalProperties: true } as const;

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

/** May be null, which means the same as absent. It is described here, or by its schema. */
export const nullable = <Schema extends TSchema>(
  schema: Schema,
  description?: string,
  fallback?: unknown,
) => T.Optional(orNull(schema, given({ description, default: fallback })));

export const oneOf = <const Name extends string>(
  names: readonly Name[],
  options: SchemaOptions = {},
) =>
  T.Union(
    names.map((name) => T.Literal(name)),
    options,
  );

export const count = (description?: string) => T.Integer({ minimum: 0, ...given({ description }) });

/** What becomes of a field, or of one of its values, that has no effect. */
export interface FieldUse {
  kind: "accepted" | "ignored" | "rejected";
  /** A sentence; of a rejected field what its error says behind the field's name. */
  why: string;
  /** Values that are accepted all the same; `parent`: the object that the field is in. */
  unless?: (value: unknown, parent: object) => boolean;
  /** The same, for a person. */
  except?: string;
}

type UseOptions = Pick<FieldUse, "unless" | "except">;

/** Keywords of a schema; as symbols, so that the OpenAPI document has their descriptions alone. */
const useKey = Symbol("use");
const unexaminedKey = Symbol("unexamined");
const readAsKey = Symbol("read as");

/** The answer does not depend on the field. */
export const accepted = (why: string) => T.Optional(acceptedAs(T.Unknown(), why));

export const acceptedAs = <Schema extends TSchema>(schema: Schema, why: string): Schema =>
  annotated(schema, { kind: "accepted", why }, `Accepted without effect. ${why}`);

/** The node does not act on the field, and the header `x-paddock-ignored` names it. */
export const ignored = (why: string, options?: UseOptions) =>
  T.Optional(ignoredAs(T.Unknown(), why, options));

/** The same of a field whose values are checked, or of one value among others. */
export const ignoredAs = <Schema extends TSchema>(
  schema: Schema,
  why: string,
  options: UseOptions = {},
): Schema => annotated(schema, { kind: "ignored", why, ...options }, `Ignored. ${why}`);

/** Without the field the answer would be another one: the request is a 400. `why` continues "'field' …". */
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

/** What is let in without a look at its fields. */
export const unexamined = <Schema extends TSchema>(schema: Schema): Schema => ({
  ...schema,
  [unexaminedKey]: true,
});

interface ReadAs {
  schema: TSchema;
  /** What becomes of an object that is none of the schema's variants; default: nothing is said of it. */
  others: "unsaid" | "ignored";
}

/**
 * An object whose fields depend on its type: the schema lets all of them in, and `variants` say which
 * are known and what becomes of them. What is missing is said where the object is read.
 */
export const readAs = <Schema extends TSchema>(
  schema: Schema,
  variants: readonly TSchema[],
  others: ReadAs["others"] = "unsaid",
): Schema => ({
  ...schema,
  [readAsKey]: { schema: T.Union([...variants]), others } satisfies ReadAs,
});

/** What schemas say in these keywords. */
export const useOf = (schema: TSchema): FieldUse | undefined => Reflect.get(schema, useKey);
export const isUnexamined = (schema: TSchema): boolean => Reflect.has(schema, unexaminedKey);
export const readingOf = (schema: TSchema): ReadAs | undefined => Reflect.get(schema, readAsKey);

/** The error for a field that cannot be taken as it is. `why` goes on where the field's name ends: "is not JSON". */
export const refuse = (param: string, why: string): NodeError =>
  new NodeError("invalid_request", `'${param}' ${why}.`, { param });

type NonNull<Fields> = {
  [Key in keyof Fields]: Exclude<Fields[Key], null> | NullAsUndefined<Fields[Key]>;
};

type NullAsUndefined<Value> = null extends Value ? undefined : never;

/** Fields of a body: one that is null counts as absent, while 0, false and "" count. */
export function withoutNulls<Fields extends object>(fields: Fields): Given<NonNull<Fields>>;
export function withoutNulls(fields: object): object {
  const entries = Object.entries(fields).map(([key, value]) => [key, value ?? undefined]);
  return given(Object.fromEntries(entries));
}

/** Times as the OpenAI API has them: Unix time in whole seconds. */
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

/** Texts, or token ids in their place: one of them, or a list. A list of numbers is one input. */
export const isOneInput = (
  input: Input | readonly (string | number | number[])[],
): input is Input => typeof input === "string" || typeof input[0] === "number";

export const inputsOf = (input: Input | readonly (string | number | number[])[]): Input[] =>
  isOneInput(input) ? [input] : input.flatMap((one) => (typeof one === "number" ? [] : [one]));
