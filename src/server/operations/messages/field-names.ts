/** Errors of the domain in the words of Anthropic's API: engines name fields as the OpenAI API does. */
import { NodeError, withField } from "../../../core/errors.ts";

const names = [
  [/\btools\[(\d+)\]\.function\.parameters/g, "tools[$1].input_schema"],
  [/\bresponse_format\.json_schema\.schema/g, "output_config.format.schema"],
  [/\bresponse_format\b/g, "output_config.format"],
] as const;

/** The same events; a failure names the caller's fields. */
export async function* renameFields<Event>(events: AsyncIterable<Event>): AsyncGenerator<Event> {
  try {
    yield* events;
  } catch (error) {
    throw error instanceof NodeError ? renamed(error) : error;
  }
}

function renamed(error: NodeError): NodeError {
  const message = inOwn(error.message);
  const param = error.param === undefined ? undefined : inOwn(error.param);
  if (param === error.param && message === error.message) return error;
  return withField(error, { message, param });
}

const inOwn = (text: string): string =>
  names.reduce((changed, [theirs, ours]) => changed.replace(theirs, ours), text);
