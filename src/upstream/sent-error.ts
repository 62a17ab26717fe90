/** The error in the body of a server that speaks the OpenAI API; each kind of server has a form of its own. */
import { given } from "../core/given.ts";
import { isObject, listAt, objectAt, textAt } from "./json-fields.ts";

export interface SentError {
  message: string;
  /** The field at fault, as that server calls it. */
  param?: string;
  /** Its `code` and its `type`, where they are words. */
  words: readonly string[];
  /** Its `code`, where that is a status: in a stream there is no other. */
  status?: number;
}

/** Undefined where the body holds no error. */
export function sentError(body: unknown): SentError | undefined {
  if (!isObject(body)) return undefined;
  // OpenAI, vLLM and llama-server; else the error itself, as older versions of vLLM send it and TEI does.
  const error = objectAt(body, "error") ?? body;
  const message = textAt(error, "message") ?? textAt(body, "error") ?? detailOf(body);
  if (message === undefined) return undefined;
  const { code } = error;
  const words = [code, error.type, error.error_type].filter((word) => typeof word === "string");
  return {
    message,
    words,
    ...given({
      param: textAt(error, "param") ?? fieldNamedIn(message) ?? locationOf(body),
      status: typeof code === "number" && code >= 400 && code < 600 ? code : undefined,
    }),
  };
}

/** As FastAPI says it. */
function detailOf(body: unknown): string | undefined {
  const [first] = listAt(body, "detail");
  return textAt(body, "detail") ?? textAt(first, "msg");
}

function locationOf(body: unknown): string | undefined {
  const [first] = listAt(body, "detail");
  const place = listAt(first, "loc").filter((part) => part !== "body");
  return place.length === 0 ? undefined : place.join(".");
}

/** llama-server has no `param`, and names the field in its message. */
const fieldNamedIn = (message: string): string | undefined =>
  /^(?:Field|field|Invalid type for) ['"]([\w.]+)['"]/.exec(message)?.[1];

/** The status that an error in the middle of a stream stands for; there it comes as words. */
export function statusOf(sent: SentError | undefined): number {
  if (sent?.status !== undefined) return sent.status;
  const known = sent?.words.map((word) => statuses[word]).find((status) => status !== undefined);
  return known ?? 500;
}

const statuses: Readonly<Record<string, number>> = {
  context_length_exceeded: 400,
  invalid_request_error: 400,
  BadRequestError: 400,
  rate_limit_exceeded: 429,
  model_not_found: 404,
  model_not_ready: 503,
  queue_full: 503,
  unavailable: 503,
  unavailable_error: 503,
  request_timeout: 504,
};
