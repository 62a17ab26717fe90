/** Reads a response's JSON body, which must fit its schema. */
import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { ErrorAnswer } from "../../src/server/wire/fields.ts";

export async function decode<Schema extends TSchema>(
  schema: Schema,
  response: Response,
): Promise<Static<Schema>> {
  const body: unknown = await response.json();
  if (Value.Check(schema, body)) return body;
  const { path, message } = Value.Errors(schema, body).First() ?? {};
  throw new Error(`${path}: ${message} in ${JSON.stringify(body)}`);
}

export async function decodeError(
  response: Response,
): Promise<Static<typeof ErrorAnswer>["error"]> {
  return (await decode(ErrorAnswer, response)).error;
}
