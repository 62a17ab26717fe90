/** Reads the server-sent events of a streamed chat completion, however their bytes are cut on the way. */
import { createParser } from "eventsource-parser";
import { ApiError, sentError } from "./api-error.ts";
import type { ChatCompletionChunk } from "./wire.ts";

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
    // Whoever stops reading before the end lets the connection go.
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
    throw new ApiError("not_json", `The server sent what is no JSON: ${start}`, { cause });
  }
}

const interrupted = (cause?: unknown): ApiError =>
  new ApiError("stream_interrupted", "The answer ended before it was finished.", { cause });
