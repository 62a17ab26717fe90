/** Server-sent events: the one stream of the node, pulled by its reader, so that a slow one slows generation. */
import { errorBody, toNodeError } from "./errors.ts";

const headers = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  // Proxies that buffer would hold every token back until the end.
  "x-accel-buffering": "no",
};

const done = "[DONE]";

export interface EventStreamOptions {
  /** Called when the reader is gone; what makes the frames must stop. */
  onCancel: (reason: unknown) => void;
  /** Hears of a failure after the first frame, which can no longer be a status. */
  onError: (error: unknown) => void;
}

/**
 * Sends each frame as `data: <frame>` and ends with `data: [DONE]`. Waits for the first frame, so
 * that a failure before it is thrown and keeps a real HTTP status; a later one becomes an error
 * frame, and the stream then ends without `[DONE]`.
 */
export async function eventStream(
  frames: AsyncIterable<string>,
  { onCancel, onError }: EventStreamOptions,
): Promise<Response> {
  const iterator = frames[Symbol.asyncIterator]();
  let next: IteratorResult<string> | undefined = await iterator.next();
  const encoder = new TextEncoder();
  const encode = (data: string): Uint8Array => encoder.encode(`data: ${data}\n\n`);
  let gone = false;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { value, done: ended } = next ?? (await iterator.next());
          next = undefined;
          if (gone) return;
          controller.enqueue(encode(ended ? done : value));
          if (ended) controller.close();
        } catch (error) {
          if (gone) return;
          onError(error);
          controller.enqueue(encode(JSON.stringify(errorBody(toNodeError(error)))));
          controller.close();
        }
      },
      async cancel(reason) {
        gone = true;
        onCancel(reason);
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, { headers });
}
