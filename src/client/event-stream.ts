/** Parses server-sent events of the OpenAI API, for this client and the gateway. */
import { createParser } from "eventsource-parser";
import { ApiError, sentError } from "./api-error.ts";
import { isObject } from "./json-fields.ts";
import type { ChatCompletionChunk } from "./wire.ts";

export const endOfStream = "[DONE]";

/** The data of the events in each chunk of the body, so that none waits for later ones. */
export async function* eventData(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const events: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => events.push(data) });
  const decoder = new TextDecoder();
  for await (const piece of bytes) {
    parser.feed(decoder.decode(piece, { stream: true }));
    if (events.length > 0) yield events.splice(0);
  }
  // The last event may lack its closing empty line.
  parser.feed("\n\n");
  if (events.length > 0) yield events;
}

type Body = ReadableStream<Uint8Array> | null;

/** Ends at `[DONE]`; a stream that ends without it throws an ApiError. */
export async function* readChunks<Chunk = ChatCompletionChunk>(
  body: Body,
  signal?: AbortSignal,
): AsyncGenerator<Chunk> {
  for await (const events of eventData(piecesOf(body, signal))) {
    for (const data of events) {
      if (data === endOfStream) return;
      const chunk: Chunk = parse(data);
      const sent = isObject(chunk) && "error" in chunk ? sentError(chunk) : undefined;
      if (sent !== undefined) throw new ApiError("stream_error", sent.message, { sent });
      yield chunk;
    }
  }
  throw interrupted();
}

/** Not every browser can iterate over a stream. */
async function* piecesOf(body: Body, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (cause) {
    throw signal?.aborted === true ? cause : interrupted(cause);
  } finally {
    // A caller that stops reading before the end closes the connection.
    reader.cancel().catch(() => {});
  }
}

function parse<Chunk>(data: string): Chunk {
  try {
    return JSON.parse(data);
  } catch (cause) {
    const start = data.slice(0, 60);
    throw new ApiError("not_json", `The server did not send JSON: ${start}`, { cause });
  }
}

const interrupted = (cause?: unknown): ApiError =>
  new ApiError("stream_interrupted", "The answer ended before it was finished.", { cause });
