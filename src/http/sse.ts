/** Server-sent events: the one stream of the node, pulled by its reader, so that a slow one slows generation. */
import { errorBody, toNodeError } from "./errors.ts";

const type = "text/event-stream";

const headers = {
  "content-type": `${type}; charset=utf-8`,
  "cache-control": "no-cache",
  // Proxies that buffer would hold every token back until the end.
  "x-accel-buffering": "no",
};

const done = "[DONE]";
/** A line that clients skip: the connection is alive, the first token is not there yet. */
const comment = ": waiting\n\n";

/** Whether an answer goes on after its headers. */
export const isEventStream = (response: Response): boolean =>
  response.headers.get("content-type")?.startsWith(type) === true;

export interface EventStreamOptions {
  /** Called when the reader is gone; what makes the frames must stop. */
  onCancel: (reason: unknown) => void;
  /** Hears of a failure after the first frame, which can no longer be a status. */
  onError: (error: unknown) => void;
  /** Called once, however the stream ends, when what makes the frames has ended too. */
  onEnd?: () => void;
  /** Ends the stream with its reason, also where nobody reads. */
  signal?: AbortSignal;
  /** How long nothing may be sent before a comment is; default: 5 s. */
  keepAliveMs?: number;
}

/**
 * Sends each frame as `data: <frame>` and ends with `data: [DONE]`. Waits a while for the first
 * frame, so that a failure before it is thrown and keeps a real HTTP status; a later one becomes an
 * error frame, and the stream then ends without `[DONE]`.
 */
export async function eventStream(
  frames: AsyncIterable<string>,
  { onCancel, onError, onEnd = () => {}, signal, keepAliveMs = 5000 }: EventStreamOptions,
): Promise<Response> {
  const iterator = frames[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const encode = (data: string): Uint8Array => encoder.encode(`data: ${data}\n\n`);
  let pending: Promise<IteratorResult<string>> | undefined = iterator.next();
  // A failure that comes while nobody waits is met by the next pull.
  pending.catch(() => {});
  try {
    await within(pending, keepAliveMs);
  } catch (error) {
    onEnd();
    throw error;
  }
  let isGone = false;
  let isPulled = false;
  let failure: { error: unknown } | undefined;
  const finish = (): void => {
    signal?.removeEventListener("abort", expire);
    onEnd();
  };
  /** A reader that waits hears it from the frames; one that does not read must not keep them from ending. */
  const expire = (): void => {
    if (isPulled || isGone || failure !== undefined) return;
    failure = { error: signal?.reason };
    onError(failure.error);
    pending?.catch(() => {});
    void Promise.resolve(iterator.return?.())
      .catch(() => {})
      .finally(finish);
  };
  signal?.addEventListener("abort", expire, { once: true });
  if (signal?.aborted === true) expire();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const end = (error: unknown): void => {
          controller.enqueue(encode(JSON.stringify(errorBody(toNodeError(error)))));
          controller.close();
        };
        if (failure !== undefined) {
          end(failure.error);
          return;
        }
        isPulled = true;
        try {
          pending ??= iterator.next();
          const next = await within(pending, keepAliveMs);
          if (isGone) return;
          if (next === undefined) {
            controller.enqueue(encoder.encode(comment));
            return;
          }
          pending = undefined;
          controller.enqueue(encode(next.done === true ? done : next.value));
          if (next.done !== true) return;
          controller.close();
          finish();
        } catch (error) {
          if (isGone) return;
          onError(error);
          end(error);
          finish();
        } finally {
          isPulled = false;
        }
      },
      async cancel(reason) {
        isGone = true;
        if (failure !== undefined) return;
        onCancel(reason);
        pending?.catch(() => {});
        try {
          await iterator.return?.();
        } finally {
          finish();
        }
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, { headers });
}

/** What the promise gives, or nothing if it takes longer. */
async function within<Value>(promise: Promise<Value>, ms: number): Promise<Value | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
