/** The one error of the client: why a request has no answer, or why its answer ended early. */

import { createParser } from "eventsource-parser";
import type { ChatCompletionChunk, ErrorAnswer } from "./wire.ts";

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
  /** The error that the server sent, where it sent one. */
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
  /** The request field at fault. */
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
function sentError(body: unknown): SentError | undefined {
  if (!isObject(body)) return undefined;
  const { error } = body;
  // Some servers send a bare text.
  if (typeof error === "string") return { message: error };
  if (!isObject(error) || typeof error.message !== "string") return undefined;
  const { message, code, param } = error;
  return { message, code: textOrNull(code), param: textOrNull(param) };
}

/** The error that a response other than 2xx stands for. */
export async function statusError(response: Response): Promise<ApiError> {
  const sent = await response.json().then(sentError, () => undefined);
  const message = `The server answered with status ${response.status}.`;
  return new ApiError("status", message, { response, ...(sent === undefined ? {} : { sent }) });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** The data of the event that ends a stream of the OpenAI API. */
const endOfStream = "[DONE]";

type Body = ReadableStream<Uint8Array> | null;

/** Ends at `[DONE]`; a stream that ends without it throws an ApiError. */
export async function* readChunks(
  body: Body,
  signal?: AbortSignal,
): AsyncGenerator<ChatCompletionChunk> {
  for await (const data of eventData(body, signal)) {
    if (data === endOfStream) return;
    const chunk = parse(data);
    const sent = sentError(chunk);
    if (sent !== undefined) throw new ApiError("stream_error", sent.message, { sent });
    yield chunk;
  }
  throw interrupted();
}

async function* eventData(body: Body, signal?: AbortSignal): AsyncGenerator<string> {
  // Not every browser iterates a stream by itself.
  const reader = body?.getReader();
  if (reader === undefined) return;
  const events: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => events.push(data) });
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* events.splice(0);
    }
  } catch (cause) {
    throw signal?.aborted === true ? cause : interrupted(cause);
  } finally {
    // A caller that stops reading before the end closes the connection.
    reader.cancel().catch(() => {});
  }
  // The last event may lack the empty line that ends it.
  parser.feed("\n\n");
  yield* events;
}

function parse(data: string): ChatCompletionChunk {
  try {
    return JSON.parse(data);
  } catch (cause) {
    const start = data.slice(0, 60);
    throw new ApiError("not_json", `The server did not send JSON: ${start}`, { cause });
  }
}

const interrupted = (cause?: unknown): ApiError =>
  new ApiError("stream_interrupted", "The answer ended before it was finished.", { cause });
