/** Sends answers: streams, downloads, long lists, background work, and the request timeout. */

import { NodeError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { pieceLength, piecesOf } from "../../core/text-pieces.ts";
import { nextTurn } from "../../core/turns.ts";
import { dataEvents } from "../event-format.ts";
import type { Answer, Download } from "../operation.ts";
import { clientGone, clientStalled, type RequestContext } from "../request-context.ts";
import { eventStream, type StreamBuffers } from "../sse.ts";
import { named } from "../wire/field-names.ts";
import { errorResponse, toNodeError } from "./errors.ts";

type EventAnswer = Extract<Answer, { events: unknown }>;
type Text = Extract<Answer, { text: unknown }>["text"];

interface StreamSettings {
  stallTimeoutMs: number;
  buffers: StreamBuffers;
  log: Log;
}

/** Sends a stream of events; `ending` is disposed when the stream has ended, complete or not. */
export async function streamResponse(
  { events, format = dataEvents }: EventAnswer,
  request: Request,
  context: RequestContext,
  ending: Disposable,
  { stallTimeoutMs, buffers, log }: StreamSettings,
): Promise<Response> {
  const { id } = context;
  const response = await eventStream(events, {
    format: {
      ...format,
      writeError: (error) => format.writeError(named(error, context.fieldNames)),
    },
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

/** Characters of an answer that keeps its caller's place until it is read: unread ones take memory. */
export const largeText = pieceLength;

/** A whole text as a stream, so that it counts as in progress until it is read. */
export const inPieces = (text: Text, contentType: string): EventAnswer => ({
  events: typeof text === "string" ? inTurns(piecesOf(text)) : text,
  format: { contentType, waiting: "", write: (piece) => piece, end: "", writeError: () => "" },
});

async function* inTurns(pieces: Iterable<string>): AsyncGenerator<string> {
  let length = 0;
  for (const piece of pieces) {
    yield piece;
    length += piece.length;
    if (length < sliceLength) continue;
    length = 0;
    await nextTurn();
  }
}

/**
 * Sends a stored file as bytes to save, whatever its type. Otherwise an uploaded HTML page would
 * run in the browser with the rights of the node's own page.
 */
export function downloadResponse({ content, filename }: Download): Response {
  return new Response(content, {
    headers: {
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename*=UTF-8''${encoded(filename)}`,
      "content-security-policy": "sandbox",
      "cache-control": "private, no-store",
    },
  });
}

/** Also encodes the characters that `encodeURIComponent` leaves and a header may not have. */
const encoded = (name: string): string =>
  encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Continues work for an answered request, which ends, and frees its place, only with the work. */
export function continueInBackground(
  background: Promise<void>,
  context: RequestContext,
  ending: Disposable,
): void {
  context.outlivesHandler();
  const end = (): void => {
    ending[Symbol.dispose]();
    context.workEnded();
  };
  void background.then(end, end);
}

/** From now on the signal aborts after `ms` (0: never) and when the node stops. */
export function startTimeout(
  context: Pick<RequestContext, "endWith">,
  ms: number,
  stopping: AbortSignal,
): Disposable {
  const late = new AbortController();
  context.endWith(late.signal, stopping);
  const overdue = `The answer took longer than the ${ms / 1000} s that this node allows a request. Ask for fewer tokens, or raise limits.request_timeout.`;
  const abort = (): void => late.abort(new NodeError("timeout", overdue));
  const timer = ms === 0 ? undefined : setTimeout(abort, ms);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

/** Characters serialized before other requests get a turn: a few milliseconds. */
const sliceLength = 400_000;

/** An object with a list as JSON. A large one is written as it is read: whole, it would take many times the memory of its items, and block every other request. */
export function jsonWithList(rest: object, name: string, items: Iterable<object>): Text {
  const pieces = listPieces(`${JSON.stringify(rest).slice(0, -1)},"${name}":[`, items);
  const first = pieces.next().value ?? "";
  const second = pieces.next().value;
  return second === undefined ? first : inTurns(withFirst([first, second], pieces));
}

function* listPieces(start: string, items: Iterable<object>): Generator<string, undefined> {
  let piece = start;
  let separator = "";
  for (const item of items) {
    piece += separator + JSON.stringify(item);
    separator = ",";
    if (piece.length < largeText) continue;
    yield piece;
    piece = "";
  }
  yield `${piece}]}`;
}

function* withFirst(first: readonly string[], rest: Iterable<string>): Generator<string> {
  yield* first;
  yield* rest;
}
