import { dataEvents } from "../../src/server/event-format.ts";
import { type EventStreamOptions, eventStream, StreamBuffers } from "../../src/server/sse.ts";

/** An event stream with what a test says, and quiet for the rest. */
export const streamOf = (
  frames: AsyncIterable<string>,
  options: Partial<EventStreamOptions>,
): Promise<Response> =>
  eventStream(frames, {
    onCancel: () => {},
    onError: () => {},
    onStall: () => {},
    onEnd: () => {},
    signal: new AbortController().signal,
    stallMs: 60_000,
    buffers: new StreamBuffers(),
    format: dataEvents,
    ...options,
  });
