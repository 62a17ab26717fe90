/** Builds the schemas of configuration keys, each with its default and description. */
import {
  type IntegerOptions,
  type NumberOptions,
  type SchemaOptions,
  type StringOptions,
  Type as T,
  type TProperties,
} from "@sinclair/typebox";

/** 24 days: timers have 31 bits of milliseconds, and one of 25 days fires at once. */
export const longestSeconds = 24 * 24 * 60 * 60;

export const section = <Keys extends TProperties>(keys: Keys) =>
  T.Object(keys, { additionalProperties: false, default: {} });

export const integer = (options: IntegerOptions, description: string) =>
  T.Integer({ ...options, description });

export const number = (options: NumberOptions, description: string) =>
  T.Number({ ...options, description });

export const optionalNumber = (options: NumberOptions, description: string) =>
  T.Optional(number(options, description));

export const flag = (options: SchemaOptions, description: string) =>
  T.Boolean({ ...options, description });

export const optionalFlag = (options: SchemaOptions, description: string) =>
  T.Optional(flag(options, description));

export const text = (options: StringOptions, description: string) =>
  T.String({ ...options, description });

export const optionalText = (options: StringOptions, description: string) =>
  T.Optional(text(options, description));

/** A list of texts; empty by default. */
export const texts = (item: StringOptions, options: SchemaOptions, description: string) =>
  T.Array(T.String(item), { default: [], ...options, description });

export const choice = <const Name extends string>(names: readonly Name[], options: SchemaOptions) =>
  T.Union(
    names.map((name) => T.Literal(name)),
    options,
  );

/** An upper limit; 0 turns it off. */
export const atMost = (most: number, what: string, options: IntegerOptions = {}) =>
  integer({ minimum: 0, default: most, ...options }, `${what}; 0: no bound.`);
