/** The client's error: why a request has no answer, or why its answer ended early. */
import { isObject, listAt, objectAt, textAt } from "./json-fields.ts";

type ApiErrorKind =
  /** No response: nothing listens there, or the network is down. */
  | "unreachable"
  /** The response has a status other than 2xx. */
  | "status"
  /** The server sent an error during a stream. */
  | "stream_error"
  | "stream_interrupted"
  | "not_json";

interface ApiErrorDetails {
  response?: Pick<Response, "status" | "headers">;
  sent?: SentError | undefined;
  cause?: unknown;
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number | undefined;
  readonly headers: Headers | undefined;
  /** The machine-readable reason: `queue_full`. */
  readonly code: string | null;
  readonly param: string | null;
  /** The server's own message, if it sent one. */
  readonly serverMessage: string | undefined;

  constructor(
    readonly kind: ApiErrorKind,
    message: string,
    { response, sent, cause }: ApiErrorDetails = {},
  ) {
    super(sent?.message ?? message, cause === undefined ? undefined : { cause });
    this.status = response?.status;
    this.headers = response?.headers;
    this.code = sent?.code ?? null;
    this.param = sent?.param ?? null;
    this.serverMessage = sent?.message;
  }
}

/** An error in a body or an event of a stream. Each kind of server has its own format. */
export interface SentError {
  message: string;
  /** The machine-readable reason: `queue_full`. */
  code: string | undefined;
  /** The invalid field, by the server's name. */
  param: string | undefined;
  /** Its `code` and `type`, if they are strings. */
  words: readonly string[];
  /** Its `code`, if that is a status: in a stream there is no other. */
  status: number | undefined;
}

/** Undefined if the body contains no error. */
export function sentError(body: unknown): SentError | undefined {
  if (!isObject(body)) return undefined;
  // OpenAI, vLLM and llama-server have `error`; TEI and older vLLM send its fields directly.
  const error = objectAt(body, "error") ?? body;
  // FastAPI's format: a text, or a list with the place of each fault.
  const [fault] = listAt(body, "detail");
  const message =
    textAt(error, "message") ??
    textAt(body, "error") ??
    textAt(body, "detail") ??
    textAt(fault, "msg");
  if (message === undefined) return undefined;
  const { code } = error;
  const place = listAt(fault, "loc").filter((part) => part !== "body");
  return {
    message,
    code: textAt(error, "code"),
    param: textAt(error, "param") ?? fieldNamedIn(message) ?? (place.join(".") || undefined),
    words: [code, error.type, error.error_type].filter((word) => typeof word === "string"),
    status: typeof code === "number" && code >= 400 && code < 600 ? code : undefined,
  };
}

/** llama-server sends no `param`, but names the field in its message. */
const fieldNamedIn = (message: string): string | undefined =>
  /^(?:Field|field|Invalid type for) ['"]([\w.]+)['"]/.exec(message)?.[1];

export async function statusError(response: Response): Promise<ApiError> {
  const sent = await response.json().then(sentError, () => undefined);
  const message = `The server answered with status ${response.status}.`;
  return new ApiError("status", message, { response, sent });
}
