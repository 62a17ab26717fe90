/** Errors of the domain in the words of Anthropic's API: engines name fields as the OpenAI API does. */
import { NodeError } from "../../../core/errors.ts";
import { given } from "../../../core/given.ts";

const names = [
  [/\btools\[(\d+)\]\.function\.parameters/g, "tools[$1].input_schema"],
  [/\bresponse_format\.json_schema\.schema/g, "output_config.format.schema"],
  [/\bresponse_format\b/g, "output_config.format"],
] as const;

/** The same events; a failure names the caller's fields. */
export async function* inOwnWords<Event>(events: AsyncIterable<Event>): AsyncGenerator<Event> {
  try {
    yield* events;
  } catch (error) {
    throw error instanceof NodeError ? renamed(error) : error;
  }
}

function renamed(error: NodeError): NodeError {
  const { kind, message, param, retryAfterMs } = error;
  const own = param === undefined ? undefined : inOwn(param);
  if (own === param && inOwn(message) === message) return error;
  const details = given({ param: own, retryAfterMs });
  return new NodeError(kind, inOwn(message), { ...details, cause: error });
}

const inOwn = (text: string): string =>
  names.reduce((changed, [theirs, ours]) => changed.replace(theirs, ours), text);
