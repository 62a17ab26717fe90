/** Server-sent events with back pressure: frames are pulled by the reader, so that a slow one slows generation. */
import { NodeError } from "../core/errors.ts";
import { dataEvents, type EventFormat } from "./event-format.ts";
import { LazyTimer } from "./lazy-timer.ts";
import { toNodeError } from "./middleware/errors.ts";

const type = "text/event-stream";

const headers = {
  "content-type": `${type}; charset=utf-8`,
  "cache-control": "no-cache",
  // Proxies that buffer would hold every token back until the end.
  "x-accel-buffering": "no",
};

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
  /** Default: data alone. */
  format?: EventFormat;
}

/**
 * Sends each frame as the format writes it, by default as `data: <frame>` with `data: [DONE]` at the
 * end. Waits a while for the first frame, so that a failure before it is thrown and keeps a real HTTP
 * status; a later one becomes an error frame, and the stream then ends without `[DONE]`.
 */
export async function eventStream(
  frames: AsyncIterable<string>,
  options: EventStreamOptions,
): Promise<Response> {
  const source = new FrameSource(frames, options);
  await source.waitForFirst();
  return new Response(new ReadableStream(source, { highWaterMark: 0 }), { headers });
}

class FrameSource {
  readonly #options: EventStreamOptions;
  readonly #frames: AsyncIterator<string>;
  readonly #keepAliveMs: number;
  readonly #stallMs: number;
  readonly #format: EventFormat;
  /** `awaited`: the reader waits for a frame; `idle`: it takes none; `over`: there is none any more. */
  #state: "idle" | "awaited" | "over" = "idle";
  /** The next frame, where it was asked for and is not there yet. */
  #next: Promise<IteratorResult<string>> | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** For whoever is waited for: the frames, or the reader. */
  readonly #timer = new LazyTimer(() => (this.#state === "awaited" ? this.#late() : this.#stall()));
  /** Ends the wait for a frame that takes long. */
  #late = (): void => {};

  constructor(frames: AsyncIterable<string>, options: EventStreamOptions) {
    this.#options = options;
    this.#frames = frames[Symbol.asyncIterator]();
    this.#keepAliveMs = options.keepAliveMs ?? 5000;
    this.#stallMs = options.stallMs ?? 60_000;
    this.#format = options.format ?? dataEvents;
  }

  /** Waits a while for the first frame; throws what fails before it. */
  async waitForFirst(): Promise<void> {
    try {
      await this.#frame();
    } catch (error) {
      this.#end();
      throw error;
    }
    this.#state = "idle";
    // A failure that comes while nobody waits is met by the next pull.
    this.#next?.catch(() => {});
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { signal } = this.#options;
    this.#controller = controller;
    this.#watchReader();
    signal?.addEventListener("abort", this.#expire, { once: true });
    if (signal?.aborted === true) this.#expire();
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      const frame = await this.#frame();
      if (this.#isOver()) return;
      if (frame === undefined) {
        this.#send(comment);
        return;
      }
      this.#next = undefined;
      if (frame.done !== true) {
        this.#send(this.#format.write(frame.value));
        return;
      }
      this.#send(this.#format.end);
      controller.close();
      this.#end();
    } catch (error) {
      if (this.#isOver()) return;
      this.#options.onError(error);
      this.#close(error);
      this.#end();
    } finally {
      if (!this.#isOver()) {
        this.#state = "idle";
        this.#watchReader();
      }
    }
  }

  /** The reader is gone. */
  async cancel(reason: unknown): Promise<void> {
    if (this.#isOver()) return;
    this.#state = "over";
    this.#options.onCancel(reason);
    this.#next?.catch(() => {});
    try {
      await this.#frames.return?.();
    } finally {
      this.#end();
    }
  }

  #isOver(): boolean {
    return this.#state === "over";
  }

  /** The next frame, or nothing if it takes long. */
  #frame(): Promise<IteratorResult<string> | undefined> {
    this.#state = "awaited";
    this.#timer.dueIn(this.#keepAliveMs);
    const { promise, resolve, reject } = Promise.withResolvers<
      IteratorResult<string> | undefined
    >();
    this.#late = () => resolve(undefined);
    this.#next ??= this.#frames.next();
    this.#next.then(resolve, reject);
    return promise;
  }

  /** From when a frame was handed over to when the next is asked for; a slow model does not count. */
  #watchReader(): void {
    this.#timer.dueIn(this.#stallMs);
  }

  #stall(): void {
    const error = stalled(this.#stallMs / 1000);
    this.#abandon(error, () => this.#options.onStall?.(error));
  }

  /** The time is up, or the node stops; a reader that waits hears it from the frames. */
  readonly #expire = (): void => {
    const reason: unknown = this.#options.signal?.reason;
    this.#abandon(reason, () => this.#options.onError(reason));
  };

  /** Ends the stream while the reader takes nothing, which must not keep the frames from ending. */
  #abandon(error: unknown, tell: () => void): void {
    if (this.#state !== "idle") return;
    this.#state = "over";
    tell();
    this.#close(error);
    this.#next?.catch(() => {});
    void Promise.resolve(this.#frames.return?.())
      .catch(() => {})
      .finally(() => this.#end());
  }

  /** Ends the stream from this side, with the reason for who reads on. */
  #close(error: unknown): void {
    this.#send(this.#format.writeError(toNodeError(error)));
    this.#controller?.close();
  }

  #send(text: string): void {
    if (text !== "") this.#controller?.enqueue(encoder.encode(text));
  }

  #end(): void {
    this.#state = "over";
    this.#timer[Symbol.dispose]();
    this.#options.signal?.removeEventListener("abort", this.#expire);
    this.#options.onEnd?.();
  }
}

const encoder = new TextEncoder();

const stalled = (seconds: number): NodeError =>
  new NodeError(
    "client_stalled",
    `The client took nothing of its answer for ${seconds} s, and the answer was ended (http.stall_timeout).`,
  );
