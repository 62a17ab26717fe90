/** An answer as server-sent events, whose end is the end of its request. */
import { given } from "../../core/given.ts";
import type { Log } from "../../core/log.ts";
import type { EventFormat } from "../event-format.ts";
import { clientGone, clientStalled, type RequestContext } from "../request-context.ts";
import { eventStream, type StreamBuffers } from "../sse.ts";
import { errorResponse, toNodeError } from "./errors.ts";

export interface StreamSettings {
  /** How long a client may take nothing of a stream. */
  stallTimeoutMs: number;
  buffers: StreamBuffers;
  log: Log;
}

interface StreamedAnswer {
  events: AsyncIterable<string>;
  format?: EventFormat;
}

/** `ending` is disposed of when the stream has ended, whole or not. */
export async function streamResponse(
  { events, format }: StreamedAnswer,
  request: Request,
  context: RequestContext,
  ending: Disposable,
  { stallTimeoutMs, buffers, log }: StreamSettings,
): Promise<Response> {
  const { id } = context;
  const response = await eventStream(events, {
    ...given({ format }),
    signal: context.signal,
    stallMs: stallTimeoutMs,
    buffers,
    onCancel: (reason) => {
      context.broke(clientGone);
      context.cancel(reason);
    },
    onStall: (error) => {
      context.broke(clientStalled);
      context.cancel(error);
      log.warn("a client did not read its answer, which was ended", { id });
    },
    onError: (error) => {
      if (request.signal.aborted) {
        context.broke(clientGone);
        return;
      }
      context.broke(errorResponse(toNodeError(error)).status);
      log.error("a stream broke off", { id, error });
    },
    onEnd: () => {
      ending[Symbol.dispose]();
      context.workEnded();
    },
  });
  context.outlivesHandler();
  return response;
}
