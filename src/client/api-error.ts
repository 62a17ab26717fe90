/** The client's error: why a request has no answer, or why its answer ended early. */
import type { ErrorAnswer } from "./wire.ts";

type ApiErrorKind =
  /** No response: nothing listens there, or the network is down. */
  | "unreachable"
  /** The response has a status other than 2xx. */
  | "status"
  /** The server sent an error during a stream. */
  | "stream_error"
  /** The stream ended without `[DONE]`. */
  | "stream_interrupted"
  /** The server did not send JSON. */
  | "not_json";

interface ApiErrorDetails {
  /** The response, for its status and headers such as `retry-after`. */
  response?: Pick<Response, "status" | "headers">;
  sent?: SentError;
  cause?: unknown;
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  /** Undefined if the error did not come with a status. */
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

/** The error object in a response body; other servers may send only a part. */
type SentError = Pick<ErrorAnswer["error"], "message"> &
  Partial<Pick<ErrorAnswer["error"], "code" | "param">>;

/** The error in a body or a stream frame, if there is one. */
export function sentError(body: unknown): SentError | undefined {
  if (!isObject(body)) return undefined;
  const { error } = body;
  // Some servers send a plain string.
  if (typeof error === "string") return { message: error };
  if (!isObject(error) || typeof error.message !== "string") return undefined;
  const { message, code, param } = error;
  return { message, code: textOrNull(code), param: textOrNull(param) };
}

export async function statusError(response: Response): Promise<ApiError> {
  const sent = await response.json().then(sentError, () => undefined);
  const message = `The server answered with status ${response.status}.`;
  return new ApiError("status", message, { response, ...(sent === undefined ? {} : { sent }) });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);
