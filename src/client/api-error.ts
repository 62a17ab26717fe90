/** The one error of the client: why a request has no answer, or why its answer ended early. */
import type { ErrorAnswer } from "./wire.ts";

type ApiErrorKind =
  /** No response came: nothing listens there, or the network is gone. */
  | "unreachable"
  /** The response has a status other than 2xx. */
  | "status"
  /** The server sent an error in the middle of a stream. */
  | "stream_error"
  /** The stream ended without `[DONE]`. */
  | "stream_interrupted"
  /** What the server sent is not JSON. */
  | "not_json";

interface ApiErrorDetails {
  /** The response; its status, and its headers such as `retry-after`. */
  response?: Pick<Response, "status" | "headers">;
  sent?: SentError;
  cause?: unknown;
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  /** Undefined where the error did not come as a status. */
  readonly status: number | undefined;
  readonly headers: Headers | undefined;
  /** The reason, for a program: `queue_full`. */
  readonly code: string | null;
  readonly param: string | null;
  /** The server's own words, where it sent some. */
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

/** The error in a body of a node; other servers send less of it. */
type SentError = Pick<ErrorAnswer["error"], "message"> &
  Partial<Pick<ErrorAnswer["error"], "code" | "param">>;

/** The error that a body or a frame of a stream holds; undefined where it holds none. */
export function sentError(body: unknown): SentError | undefined {
  if (!isObject(body)) return undefined;
  const { error } = body;
  // Some servers send a bare text.
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
