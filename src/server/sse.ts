/** Streams of events, buffered for slow readers up to a limit; beyond it, generation waits. */
import { NodeError } from "../core/errors.ts";
import { type EventFormat, serverSentEvents } from "./event-format.ts";
import { toNodeError } from "./middleware/errors.ts";

const headersOf = ({ contentType = `${serverSentEvents}; charset=utf-8` }: EventFormat) => ({
  "content-type": contentType,
  "cache-control": "no-cache",
  // A proxy that buffers would hold back every token until the end.
  "x-accel-buffering": "no",
});

/** A line that clients skip. It keeps the connection alive until the next token. */
const comment = ": waiting\n\n";

export interface EventStreamOptions {
  /** Called when the reader is gone; the source of the frames must stop. */
  onCancel: (reason: unknown) => void;
  /** Called with a failure after the first frame, when it can no longer set the status. */
  onError: (error: unknown) => void;
  /** Called when the reader has not read the next frame in time; the source must stop. */
  onStall: (error: NodeError) => void;
  /** Called once, however the stream ends, when the source of the frames has ended too. */
  onEnd: () => void;
  /** Ends the stream with its reason, even if nobody reads. */
  signal: AbortSignal;
  /** How long the stream may be silent before a comment is sent; default: 5 s. */
  keepAliveMs?: number;
  /** How long the reader may leave frames unread; a sixth if it holds a slot. */
  stallMs: number;
  buffers: StreamBuffers;
  format: EventFormat;
}

/**
 * Waits a while for the first frame: a failure before it is thrown and gets a real HTTP status.
 * A later failure becomes an error frame, and ends the stream without its usual end.
 */
export async function eventStream(
  frames: AsyncIterable<string>,
  options: EventStreamOptions,
): Promise<Response> {
  const source = new FrameSource(frames, options);
  await source.waitForFirst();
  return new Response(new ReadableStream(source, { highWaterMark: 0 }), {
    headers: headersOf(options.format),
  });
}

class FrameSource {
  readonly #options: EventStreamOptions;
  readonly #frames: AsyncIterator<string>;
  /** `awaited`: the reader waits for a frame; `idle`: it is not reading; `over`: the end. */
  #state: "idle" | "awaited" | "over" = "idle";
  #unread = "";
  #outcome: { error?: unknown } | undefined;
  #isMaking = false;
  #patienceMs = 0;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Bounds the current wait: for a frame, or for the reader. */
  readonly #timer = new LazyTimer(() => (this.#state === "awaited" ? this.#wake() : this.#stall()));
  /** Ends the wait for a frame: one has arrived, or a comment is due. */
  #wake = (): void => {};

  constructor(frames: AsyncIterable<string>, options: EventStreamOptions) {
    this.#options = options;
    this.#frames = frames[Symbol.asyncIterator]();
  }

  async waitForFirst(): Promise<void> {
    await this.#something();
    this.#state = "idle";
    if (this.#unread !== "" || this.#outcome === undefined || !("error" in this.#outcome)) return;
    this.#end();
    throw this.#outcome.error;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { signal } = this.#options;
    this.#controller = controller;
    this.#watchReader();
    signal.addEventListener("abort", this.#expire, { once: true });
    if (signal.aborted) this.#expire();
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    await this.#something();
    if (this.#isOver()) return;
    this.#state = "idle";
    const outcome = this.#outcome;
    if (outcome === undefined) {
      this.#send(this.#taken() || (this.#options.format.waiting ?? comment));
      void this.#make();
      this.#watchReader();
      return;
    }
    if ("error" in outcome) {
      this.#options.onError(outcome.error);
      this.#close(outcome.error);
    } else {
      this.#send(this.#taken() + this.#options.format.end);
      controller.close();
    }
    this.#end();
  }

  async cancel(reason: unknown): Promise<void> {
    if (this.#isOver()) return;
    this.#state = "over";
    this.#options.onCancel(reason);
    try {
      await this.#frames.return?.();
    } finally {
      this.#end();
    }
  }

  #isOver(): boolean {
    return this.#state === "over";
  }

  /** Resolves when there is something to send, or when a comment is due. */
  async #something(): Promise<void> {
    this.#state = "awaited";
    this.#timer.dueIn(this.#options.keepAliveMs ?? 5000);
    void this.#make();
    if (this.#unread !== "" || this.#outcome !== undefined) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  /**
   * Pulls frames from the source: one for a reader that waits, and ahead of a slow reader while
   * there is room. So generation can end and free its slot even if nobody reads.
   */
  async #make(): Promise<void> {
    if (this.#isMaking) return;
    this.#isMaking = true;
    try {
      while (this.#outcome === undefined && this.#isWanted) {
        const frame = await this.#frames.next();
        if (this.#isOver()) break;
        if (frame.done === true) this.#outcome = {};
        else this.#add(this.#options.format.write(frame.value));
        this.#wake();
      }
    } catch (error) {
      this.#outcome = { error };
      this.#wake();
    }
    this.#isMaking = false;
    if (this.#state === "idle" && this.#outcome === undefined) this.#watchReader();
  }

  get #isWanted(): boolean {
    if (this.#isOver()) return false;
    const { length } = this.#unread;
    const isAwaited = length === 0 && this.#state === "awaited";
    return isAwaited || this.#options.buffers.hasRoom(length);
  }

  #add(text: string): void {
    this.#unread += text;
    this.#options.buffers.add(text.length);
  }

  #taken(): string {
    const text = this.#unread;
    this.#unread = "";
    this.#options.buffers.add(-text.length);
    return text;
  }

  /** Times the reader from one send to its next read; the time of a slow model does not count. */
  #watchReader(): void {
    const isPaused = !this.#isMaking && this.#outcome === undefined;
    this.#patienceMs = this.#options.stallMs * (isPaused ? pausedShare : 1);
    this.#timer.dueIn(this.#patienceMs);
  }

  #stall(): void {
    // It did not read what came before, so its buffer is dropped.
    this.#taken();
    const seconds = Math.round(this.#patienceMs / 1000);
    const error = new NodeError(
      "client_stalled",
      `The client took nothing of its answer for ${seconds} s, and the answer was ended (http.stall_timeout).`,
    );
    this.#abandon(error, () => this.#options.onStall(error));
  }

  /** The time is up, or the node stops. A waiting reader learns of it through the frames. */
  readonly #expire = (): void => {
    // Generation is complete; the reader may read the rest at its own pace.
    if (this.#outcome !== undefined) return;
    const reason: unknown = this.#options.signal.reason;
    this.#abandon(reason, () => this.#options.onError(reason));
  };

  /** Ends the stream while nobody reads, and makes sure that the source ends too. */
  #abandon(error: unknown, tell: () => void): void {
    if (this.#state !== "idle") return;
    this.#state = "over";
    tell();
    this.#close(error);
    void Promise.resolve(this.#frames.return?.())
      .catch(() => {})
      .finally(() => this.#end());
  }

  #close(error: unknown): void {
    this.#send(this.#taken() + this.#options.format.writeError(toNodeError(error)));
    this.#controller?.close();
  }

  #send(text: string): void {
    if (text !== "") this.#controller?.enqueue(encoder.encode(text));
  }

  #end(): void {
    this.#state = "over";
    this.#taken();
    this.#timer[Symbol.dispose]();
    this.#options.signal.removeEventListener("abort", this.#expire);
    this.#options.onEnd();
  }
}

/** Most characters buffered for slow readers: per stream, and for all streams. */
const most = { stream: 1 << 20, all: 32 << 20 };

/** The share of the stall timeout for a reader whose full buffer holds a slot. */
const pausedShare = 1 / 6;

/** Counts the characters that all streams of a node buffer for slow readers. */
export class StreamBuffers {
  #length = 0;

  /** Whether a stream that buffers `length` characters may buffer more. */
  hasRoom(length: number): boolean {
    return length < most.stream && this.#length < most.all;
  }

  add(length: number): void {
    this.#length += length;
  }
}

const encoder = new TextEncoder();

/** A timeout that is cheap to move with every chunk of a stream: it rarely sets a new timer. */
export class LazyTimer implements Disposable {
  readonly #onDue: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firesAt = Number.POSITIVE_INFINITY;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(onDue: () => void) {
    this.#onDue = onDue;
  }

  /** Moves the deadline to `ms` milliseconds from now. */
  dueIn(ms: number): void {
    this.#dueAt = performance.now() + ms;
    // A timer that fires too early is set again; only one that would fire too late is replaced.
    if (this.#dueAt < this.#firesAt) this.#run(ms);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#firesAt = Number.NEGATIVE_INFINITY;
  }

  #run(ms: number): void {
    clearTimeout(this.#timer);
    this.#firesAt = performance.now() + ms;
    this.#timer = setTimeout(() => {
      this.#firesAt = Number.POSITIVE_INFINITY;
      const left = this.#dueAt - performance.now();
      if (left > 0) {
        this.#run(Math.ceil(left));
        return;
      }
      this.#dueAt = Number.POSITIVE_INFINITY;
      this.#onDue();
    }, ms);
  }
}
