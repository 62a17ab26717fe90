/**
 * One HTTP request to an upstream server, and its streamed response. It uses node:http because
 * fetch is limited to 256 requests per process; see docs/decisions.
 */
import http from "node:http";
import https from "node:https";
import { onAbort } from "../../core/abort.ts";
import { brokenOff, connectionReason } from "../../core/connection-reason.ts";
import { hasCode } from "../../core/errors.ts";
import { nextTurn } from "../../core/turns.ts";

/** JSON, in parts. */
export type Body = readonly (string | Uint8Array)[];

export interface ExchangeRequest {
  url: string;
  /** Sent by POST. Absent: a GET. */
  body?: Body | undefined;
  key?: string | undefined;
  signal: AbortSignal;
  /** How long the server may be silent while it is waited for; 0: no limit. */
  silenceMs: number;
}

/** Disposing it cancels the rest of the response. */
export interface UpstreamResponse extends Disposable {
  readonly status: number;
  header(name: string): string | undefined;
  /** The body, read from the connection only as it is consumed. */
  bytes(): AsyncIterable<Uint8Array>;
  /** Discards the rest of the body, so that the connection can be reused. */
  release(): void;
}

const pooled = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY };
const agents = { http: new http.Agent(pooled), https: new https.Agent(pooled) };

/** Resolves with the head, of any status. Throws a ConnectionFailure or the signal's reason. */
export async function exchange(asked: ExchangeRequest): Promise<UpstreamResponse> {
  asked.signal.throwIfAborted();
  const request = requestFor(asked, false);
  try {
    return await responseTo(request, asked);
  } catch (error) {
    // A server may close an idle connection while the next request is on its way.
    const isReset = error instanceof ConnectionFailure && hasCode(error.cause, "ECONNRESET");
    if (!isReset || !request.reusedSocket) throw error;
    return await responseTo(requestFor(asked, true), asked);
  }
}

async function responseTo(
  request: http.ClientRequest,
  { signal, silenceMs, body = [] }: ExchangeRequest,
): Promise<UpstreamResponse> {
  let failure: ConnectionFailure | undefined;
  const explain = (error: unknown): unknown =>
    signal.aborted ? signal.reason : (failure ?? toConnectionFailure(error));
  /** Settled by what happens first: after a change of protocol the request itself reports nothing. */
  const begun = Promise.withResolvers<http.IncomingMessage>();
  const end = (error?: ConnectionFailure): void => {
    failure = error;
    request.destroy(error);
    begun.reject(explain(error));
  };
  const silence = watchSilence(silenceMs, () => {
    end(new ConnectionFailure(`no answer for ${silenceMs / 1000} s`, {}, true));
  });
  // At once, not on the next read: nobody may be reading, and the server should stop.
  const leaving = onAbort(signal, () => end());
  const forget = (): void => {
    leaving[Symbol.dispose]();
    silence[Symbol.dispose]();
  };
  let announced = 0;
  request
    .on("response", begun.resolve)
    .on("error", (error) => begun.reject(explain(error)))
    .on("upgrade", (_, socket) => {
      socket.destroy();
      forget();
      end(new ConnectionFailure("it turns to another protocol"));
    })
    .on("information", () => {
      if (++announced > mostAnnounced) {
        end(new ConnectionFailure("it announces its answer without end"));
      }
    })
    .on("close", forget);
  void sendBody(request, body);
  const head = await begun.promise;
  // The reader gets the error. Without a reader, it is not needed.
  head.on("error", () => {});
  silence.heard();

  async function* read(): AsyncGenerator<Uint8Array> {
    const chunks = head.iterator({ destroyOnReturn: false });
    let inTurn = 0;
    try {
      for (;;) {
        signal.throwIfAborted();
        silence.waits();
        const { done, value } = await chunks.next();
        silence.heard();
        // A body that ends with its connection seems whole when this end has closed that.
        if (done === true && (signal.aborted || failure !== undefined)) throw failure;
        if (done === true) break;
        // In one piece with all else that has come: a server may send single bytes.
        const more = head.readableLength > 0 ? head.read(head.readableLength) : null;
        const piece: Uint8Array = more === null ? value : Buffer.concat([value, more]);
        yield piece;
        inTurn += piece.length;
        if (inTurn < mostInTurn) continue;
        inTurn = 0;
        await nextTurn();
      }
    } catch (error) {
      throw explain(error);
    } finally {
      // Otherwise `release` could not discard the rest.
      void chunks.return?.();
    }
    if (!head.complete) throw new ConnectionFailure(brokenOff);
  }

  return {
    status: head.statusCode ?? 0,
    header: (name) => [head.headers[name]].flat()[0],
    bytes: read,
    release: () => {
      forget();
      // Even if all of it has arrived: the connection is free only once it was read.
      head.resume();
      if (!request.writableEnded) request.destroy();
      if (head.complete) return;
      const timer = setTimeout(() => head.destroy(), releaseMs);
      head.on("close", () => clearTimeout(timer));
    },
    [Symbol.dispose]: () => {
      forget();
      // A server that answers early may never take the rest of the request.
      if (head.complete && request.writableEnded) head.resume();
      else request.destroy();
    },
  };
}

function requestFor({ url: address, body, key }: ExchangeRequest, fresh: boolean) {
  const url = new URL(address);
  const [client, agent] =
    url.protocol === "https:" ? [https, agents.https] : ([http, agents.http] as const);
  return client.request(url, {
    method: body === undefined ? "GET" : "POST",
    agent: fresh ? false : agent,
    headers: {
      accept: "text/event-stream, application/json",
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": lengthOf(body) }),
    },
  });
}

/** Bytes read in a turn of the loop: what comes at once is otherwise read to its end in one. */
const mostInTurn = 64 * 1024;

/** Responses 1xx before the answer: each takes time on the event loop. */
const mostAnnounced = 32;

/** A small body is sent in one piece with the head, a large one as fast as the server takes it: all at once would block everybody. */
async function sendBody(request: http.ClientRequest, parts: Body): Promise<void> {
  if (lengthOf(parts) <= mostJoined) {
    request.end(Buffer.concat(parts.map((part) => Buffer.from(part))));
    return;
  }
  // By an error, which its listener tells, or by an answer that came before.
  const closed = new Promise((resolve) => request.once("close", resolve));
  for (const part of parts) {
    const bytes = typeof part === "string" ? Buffer.from(part) : part;
    for (let at = 0; at < bytes.length; at += mostJoined) {
      if (request.destroyed) return;
      if (request.write(bytes.subarray(at, at + mostJoined))) continue;
      await Promise.race([closed, new Promise((resolve) => request.once("drain", resolve))]);
    }
  }
  request.end();
}

const mostJoined = 64 * 1024;

export const lengthOf = (parts: Body): number =>
  parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);

const releaseMs = 1000;

/** Why an upstream server could not be reached or broke off. The message contains no address. */
export class ConnectionFailure extends Error {
  override readonly name = "ConnectionFailure";

  constructor(
    reason: string,
    options?: ErrorOptions,
    readonly isSilence = false,
  ) {
    super(reason, options);
  }
}

function toConnectionFailure(error: unknown): ConnectionFailure {
  if (error instanceof ConnectionFailure) return error;
  const reason = connectionReason(error) ?? "it does not speak HTTP";
  return new ConnectionFailure(reason, { cause: error });
}

/** A timer that is later than this was held up. */
const mostLateMs = 1000;

/** Timeout for a server that is silent while somebody reads; one timer for all of a response. */
function watchSilence(ms: number, onSilent: () => void) {
  let since: number | undefined = performance.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    const now = performance.now();
    // Where this process stood still, what came meanwhile is read before the server is called silent.
    if (since !== undefined && now > since + ms + mostLateMs) since = now;
    const left = (since ?? now) + ms - now;
    if (left > 0) timer = setTimeout(look, Math.ceil(left)).unref();
    else onSilent();
  };
  if (ms > 0) look();
  return {
    waits: () => {
      since = performance.now();
    },
    heard: () => {
      since = undefined;
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

/** The whole text of a response; undefined if it is longer than `mostBytes`. `mostMs`: for all of it, so that a trickle ends; 0: no limit. */
export async function readText(
  response: UpstreamResponse,
  mostBytes: number,
  mostMs: number,
): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  let isLate = false;
  const late = (): void => {
    isLate = true;
    response[Symbol.dispose]();
  };
  const timer = mostMs > 0 ? setTimeout(late, mostMs) : undefined;
  try {
    for await (const chunk of response.bytes()) {
      length += chunk.length;
      if (length > mostBytes) return undefined;
      chunks.push(chunk);
    }
  } catch (error) {
    if (!isLate) throw error;
    throw new ConnectionFailure(`no complete answer for ${mostMs / 1000} s`, {}, true);
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks).toString("utf8");
}
