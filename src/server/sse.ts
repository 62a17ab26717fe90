/** Server-sent events: the one stream of the node, pulled by its reader, so that a slow one slows generation. */
import { NodeError } from "../core/errors.ts";
import { errorBody, toNodeError } from "./middleware/errors.ts";

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
  /** Called when the reader has not asked for the next frame in time; what makes them must stop. */
  onStall?: (error: NodeError) => void;
  /** Called once, however the stream ends, when what makes the frames has ended too. */
  onEnd?: () => void;
  /** Ends the stream with its reason, also where nobody reads. */
  signal?: AbortSignal;
  /** How long nothing may be sent before a comment is; default: 5 s. */
  keepAliveMs?: number;
  /** How long the reader may take nothing while there is something for it; default: 60 s. */
  stallMs?: number;
}

/**
 * Sends each frame as `data: <frame>` and ends with `data: [DONE]`. Waits a while for the first
 * frame, so that a failure before it is thrown and keeps a real HTTP status; a later one becomes an
 * error frame, and the stream then ends without `[DONE]`.
 */
export async function eventStream(
  frames: AsyncIterable<string>,
  options: EventStreamOptions,
): Promise<Response> {
  const { onCancel, onError, onStall = () => {}, onEnd = () => {}, signal } = options;
  const { keepAliveMs = 5000, stallMs = 60_000 } = options;
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
  let isOver = false;
  let isPulled = false;
  let stall: ReturnType<typeof setTimeout> | undefined;
  const finish = (): void => {
    isOver = true;
    clearTimeout(stall);
    signal?.removeEventListener("abort", expire);
    onEnd();
  };
  /** Ends the stream from this side, with the reason for who reads on. */
  const close = (controller: Controller, error: unknown): void => {
    controller.enqueue(encode(JSON.stringify(errorBody(toNodeError(error)))));
    controller.close();
  };
  /** The same while the reader takes nothing, which must not keep the frames from ending. */
  const abandon = (error: unknown, tell: () => void): void => {
    if (isPulled || isOver) return;
    isOver = true;
    tell();
    if (controller !== undefined) close(controller, error);
    pending?.catch(() => {});
    void Promise.resolve(iterator.return?.())
      .catch(() => {})
      .finally(finish);
  };
  /** A reader that waits hears it from the frames. */
  const expire = (): void => abandon(signal?.reason, () => onError(signal?.reason));
  /** From when a frame was handed over to when the next is asked for; a slow model does not count. */
  const watch = (): void => {
    clearTimeout(stall);
    stall = setTimeout(() => {
      const error = stalled(stallMs / 1000);
      abandon(error, () => onStall(error));
    }, stallMs);
  };
  let controller: Controller | undefined;
  signal?.addEventListener("abort", expire, { once: true });
  watch();
  const stream = new ReadableStream<Uint8Array>(
    {
      start(started) {
        controller = started;
      },
      async pull(controller) {
        isPulled = true;
        clearTimeout(stall);
        try {
          pending ??= iterator.next();
          const next = await within(pending, keepAliveMs);
          if (isOver) return;
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
          if (isOver) return;
          onError(error);
          close(controller, error);
          finish();
        } finally {
          isPulled = false;
          if (!isOver) watch();
        }
      },
      async cancel(reason) {
        if (isOver) return;
        isOver = true;
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
  if (signal?.aborted === true) expire();
  return new Response(stream, { headers });
}

type Controller = ReadableStreamDefaultController<Uint8Array>;

const stalled = (seconds: number): NodeError =>
  new NodeError(
    "client_stalled",
    `The client took nothing of its answer for ${seconds} s, and the answer was ended (http.stall_timeout).`,
  );

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
