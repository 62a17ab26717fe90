/** Errors of the domain in the words of the API that was asked: engines name fields as the OpenAI API's chat does. */
import { NodeError, withField } from "../../core/errors.ts";

/** What the domain calls a field, and what the caller calls it. */
export type FieldNames = readonly (readonly [theirs: RegExp, ours: string])[];

/** The same events; a failure names the caller's fields. */
export async function* renameFields<Event>(
  events: AsyncIterable<Event>,
  names: FieldNames,
): AsyncGenerator<Event> {
  try {
    yield* events;
  } catch (error) {
    throw error instanceof NodeError ? renamed(error, names) : error;
  }
}

function renamed(error: NodeError, names: FieldNames): NodeError {
  const inOwn = (text: string): string =>
    names.reduce((changed, [theirs, ours]) => changed.replace(theirs, ours), text);
  const message = inOwn(error.message);
  const param = error.param === undefined ? undefined : inOwn(error.param);
  if (param === error.param && message === error.message) return error;
  return withField(error, { message, param });
}
