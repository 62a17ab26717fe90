/** Fields of request bodies, as every operation writes them. */
import { Type as T, type TSchema } from "@sinclair/typebox";
import { given } from "../../core/given.ts";

/** Unknown fields are let in: what becomes of them is said by name. */
export const open = { additionalProperties: true } as const;

/** May be null, which means the same as absent. It is described here, or by its schema. */
export const nullable = <Schema extends TSchema>(
  schema: Schema,
  description?: string,
  fallback?: unknown,
) => T.Optional(T.Union([schema, T.Null()], given({ description, default: fallback })));
