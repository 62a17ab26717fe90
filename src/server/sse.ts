/** Server-sent events: made ahead of a reader that is behind, up to a bound; beyond it a slow reader slows generation. */
import { NodeError } from "../core/errors.ts";
import { errorBody, toNodeError } from "./middleware/errors.ts";

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

interface EventStreamOptions {
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
  /** How long the reader may take nothing while there is something for it, a sixth of it where it keeps a slot; default: 60 s. */
  stallMs?: number;
  /** Counts what is held for readers; default: for this one alone. */
  buffers?: StreamBuffers;
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
  readonly #buffers: StreamBuffers;
  /** `awaited`: the reader waits for a frame; `idle`: it takes none; `over`: there is none any more. */
  #state: "idle" | "awaited" | "over" = "idle";
  /** What is written, and not taken by the reader yet. */
  #unread = "";
  /** How what makes the frames has ended. */
  #outcome: { error?: unknown } | undefined;
  #isMaking = false;
  #patienceMs = 0;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** For what is waited for: the frames, or the reader. */
  readonly #timer = new LazyTimer(() => (this.#state === "awaited" ? this.#wake() : this.#stall()));
  /** Ends the wait for a frame: one is there, or it takes long. */
  #wake = (): void => {};

  constructor(frames: AsyncIterable<string>, options: EventStreamOptions) {
    this.#options = options;
    this.#frames = frames[Symbol.asyncIterator]();
    this.#keepAliveMs = options.keepAliveMs ?? 5000;
    this.#stallMs = options.stallMs ?? 60_000;
    this.#format = options.format ?? dataEvents;
    this.#buffers = options.buffers ?? new StreamBuffers();
  }

  /** Waits a while for the first frame; throws what fails before it. */
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
    signal?.addEventListener("abort", this.#expire, { once: true });
    if (signal?.aborted === true) this.#expire();
  }

  /** Hands over all that is there, and waits for something where there is nothing. */
  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    await this.#something();
    if (this.#isOver()) return;
    this.#state = "idle";
    const outcome = this.#outcome;
    if (outcome === undefined) {
      this.#send(this.#taken() || comment);
      void this.#make();
      this.#watchReader();
      return;
    }
    if ("error" in outcome) {
      this.#options.onError(outcome.error);
      this.#close(outcome.error);
    } else {
      this.#send(this.#taken() + this.#format.end);
      controller.close();
    }
    this.#end();
  }

  /** The reader is gone. */
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

  /** Settles when there is something to hand over, or when that takes long. */
  async #something(): Promise<void> {
    this.#state = "awaited";
    this.#timer.dueIn(this.#keepAliveMs);
    void this.#make();
    if (this.#unread !== "" || this.#outcome !== undefined) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  /**
   * Has frames made: one for a reader that waits, and ahead of one that does not as long as there is
   * room for them. So what makes them comes to its end, and its slot is free, though nobody reads.
   */
  async #make(): Promise<void> {
    if (this.#isMaking) return;
    this.#isMaking = true;
    await this.#makeWanted();
    this.#isMaking = false;
    if (this.#isOver() || this.#outcome !== undefined) return;
    // The reader may have come back just then.
    if (this.#isWanted) void this.#make();
    else if (this.#state === "idle") this.#watchReader();
  }

  async #makeWanted(): Promise<void> {
    try {
      while (!this.#isOver() && this.#outcome === undefined && this.#isWanted) {
        const frame = await this.#frames.next();
        if (this.#isOver()) return;
        if (frame.done === true) this.#outcome = {};
        else this.#add(this.#format.write(frame.value));
        this.#wake();
      }
    } catch (error) {
      this.#outcome = { error };
      this.#wake();
    }
  }

  get #isWanted(): boolean {
    const { length } = this.#unread;
    const isAwaited = length === 0 && this.#state === "awaited";
    return isAwaited || this.#buffers.hasRoom(length);
  }

  #add(text: string): void {
    this.#unread += text;
    this.#buffers.add(text.length);
  }

  /** What is unread, which is the reader's now. */
  #taken(): string {
    const text = this.#unread;
    this.#unread = "";
    this.#buffers.add(-text.length);
    return text;
  }

  /** From when something was handed over to when the next is asked for; a slow model does not count. */
  #watchReader(): void {
    const isPaused = !this.#isMaking && this.#outcome === undefined;
    this.#patienceMs = this.#stallMs * (isPaused ? pausedShare : 1);
    this.#timer.dueIn(this.#patienceMs);
  }

  #stall(): void {
    // It took nothing of what came before; memory is not to be held for it.
    this.#taken();
    const error = stalled(Math.round(this.#patienceMs / 1000));
    this.#abandon(error, () => this.#options.onStall?.(error));
  }

  /** The time is up, or the node stops; a reader that waits hears it from the frames. */
  readonly #expire = (): void => {
    // All is made, and the reader has it in its own time.
    if (this.#outcome !== undefined) return;
    const reason: unknown = this.#options.signal?.reason;
    this.#abandon(reason, () => this.#options.onError(reason));
  };

  /** Ends the stream while the reader takes nothing, which must not keep the frames from ending. */
  #abandon(error: unknown, tell: () => void): void {
    if (this.#state !== "idle") return;
    this.#state = "over";
    tell();
    this.#close(error);
    void Promise.resolve(this.#frames.return?.())
      .catch(() => {})
      .finally(() => this.#end());
  }

  /** Ends the stream from this side, with the reason for who reads on. */
  #close(error: unknown): void {
    this.#send(this.#taken() + this.#format.writeError(toNodeError(error)));
    this.#controller?.close();
  }

  #send(text: string): void {
    if (text !== "") this.#controller?.enqueue(encoder.encode(text));
  }

  #end(): void {
    this.#state = "over";
    this.#taken();
    this.#timer[Symbol.dispose]();
    this.#options.signal?.removeEventListener("abort", this.#expire);
    this.#options.onEnd?.();
  }
}

/** Characters that streams hold for readers that are behind: of one, and of all together. */
const most = { stream: 1 << 20, all: 32 << 20 };

/** A reader that keeps a slot, since there is no room for more, has only this part of its time. */
const pausedShare = 1 / 6;

/** Counts what all streams of a node hold for readers that are behind. */
export class StreamBuffers {
  #length = 0;

  /** Whether a stream that holds so much may have more made. */
  hasRoom(length: number): boolean {
    return length < most.stream && this.#length < most.all;
  }

  add(length: number): void {
    this.#length += length;
  }
}

const encoder = new TextEncoder();

const stalled = (seconds: number): NodeError =>
  new NodeError(
    "client_stalled",
    `The client took nothing of its answer for ${seconds} s, and the answer was ended (http.stall_timeout).`,
  );

/** How the events of a stream are written: as data alone, or each under its name. */
export interface EventFormat {
  /** One event that an operation yields, as it goes over the wire. */
  write(event: string): string;
  /** What follows the last event of a stream that came to its end. */
  readonly end: string;
  /** What tells the reader of a failure, after which the stream ends. */
  writeError(error: NodeError): string;
}

/** As chat completions have them: `data: <event>`, and `data: [DONE]` at the end. */
export const dataEvents: EventFormat = {
  write: (event) => `data: ${event}\n\n`,
  end: "data: [DONE]\n\n",
  writeError: (error) => dataEvents.write(JSON.stringify(errorBody(error))),
};

/** For operations that yield what `namedEvent` makes; the last event is the end. */
export const namedEvents = (writeError: EventFormat["writeError"]): EventFormat => ({
  write: (event) => event,
  end: "",
  writeError,
});

export const namedEvent = (name: string, data: object): string =>
  `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** A time-out that is moved with every piece of a stream, and costs a timer only now and then. */
export class LazyTimer implements Disposable {
  readonly #onDue: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer that runs goes off. */
  #firesAt = Number.POSITIVE_INFINITY;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(onDue: () => void) {
    this.#onDue = onDue;
  }

  /** Calls back in so many milliseconds, and no longer when it was to before. */
  dueIn(ms: number): void {
    this.#dueAt = performance.now() + ms;
    // One that goes off too early looks again; only one that would be late is replaced.
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
