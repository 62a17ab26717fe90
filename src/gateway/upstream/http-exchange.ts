/**
 * One HTTP request to an upstream server, and its streamed response. It uses node:http because
 * fetch is limited to 256 requests per process; see docs/decisions.
 */
import http from "node:http";
import https from "node:https";
import { onAbort } from "../../core/abort.ts";
import { hasCode, reasonOf } from "../../core/errors.ts";

export interface ExchangeRequest {
  url: string;
  /** JSON, sent by POST. Absent: a GET. In parts, so that requests can share a large one. */
  body?: readonly (string | Uint8Array)[] | undefined;
  /** Sent as a bearer token. */
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
  const attempt = new Attempt(asked);
  try {
    return await attempt.response();
  } catch (error) {
    // A server may close an idle connection while the next request is on its way.
    if (!attempt.isStale(error)) throw attempt.explain(error);
    const again = new Attempt(asked, { fresh: true });
    return await again.response().catch((reason) => Promise.reject(again.explain(reason)));
  }
}

class Attempt {
  readonly #asked: ExchangeRequest;
  readonly #request: http.ClientRequest;
  readonly #silence: ReturnType<typeof watchSilence>;
  readonly #leaving: Disposable;
  #failure: ConnectionFailure | undefined;

  constructor(asked: ExchangeRequest, { fresh = false } = {}) {
    this.#asked = asked;
    this.#request = requestFor(asked, fresh);
    this.#silence = watchSilence(asked.silenceMs, () => {
      const reason = `no answer for ${asked.silenceMs / 1000} s`;
      this.#failure = new ConnectionFailure(reason, {}, true);
      this.#request.destroy(this.#failure);
    });
    // At once, not on the next read: nobody may be reading, and the server should stop.
    this.#leaving = onAbort(asked.signal, () => this.#request.destroy());
  }

  async response(): Promise<UpstreamResponse> {
    const head = new Promise<http.IncomingMessage>((resolve, reject) => {
      this.#request
        .on("response", resolve)
        .on("error", reject)
        .on("close", () => this.#forget());
    });
    sendBody(this.#request, this.#asked.body ?? []);
    return this.#toResponse(await head);
  }

  isStale(error: unknown): boolean {
    const isReset = this.#failure === undefined && hasCode(error, "ECONNRESET");
    return isReset && this.#request.reusedSocket && !this.#asked.signal.aborted;
  }

  /** The signal's reason if it is aborted, else the connection failure. */
  explain(error: unknown): unknown {
    const { signal } = this.#asked;
    return signal.aborted ? signal.reason : (this.#failure ?? toConnectionFailure(error));
  }

  #toResponse(head: http.IncomingMessage): UpstreamResponse {
    // The reader gets the error. Without a reader, it is not needed.
    head.on("error", () => {});
    this.#silence.heard();
    return {
      status: head.statusCode ?? 0,
      header: (name) => {
        const value = head.headers[name];
        return Array.isArray(value) ? value[0] : value;
      },
      bytes: () => this.#read(head),
      release: () => {
        this.#forget();
        // Even if all of it has arrived: the connection is free only once it was read.
        head.resume();
        if (head.complete) return;
        const timer = setTimeout(() => head.destroy(), releaseMs);
        head.on("close", () => clearTimeout(timer));
      },
      [Symbol.dispose]: () => {
        this.#forget();
        if (head.complete) head.resume();
        else this.#request.destroy();
      },
    };
  }

  async *#read(head: http.IncomingMessage): AsyncGenerator<Uint8Array> {
    const chunks = head.iterator({ destroyOnReturn: false });
    try {
      for (;;) {
        this.#asked.signal.throwIfAborted();
        this.#silence.waits();
        const { done, value } = await chunks.next();
        this.#silence.heard();
        if (done === true) break;
        yield value;
      }
    } catch (error) {
      throw this.explain(error);
    } finally {
      // Otherwise `release` could not discard the rest.
      void chunks.return?.();
    }
    if (!head.complete) throw new ConnectionFailure("the connection broke off");
  }

  #forget(): void {
    this.#leaving[Symbol.dispose]();
    this.#silence[Symbol.dispose]();
  }
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

/** A small body is sent in one piece with the head. */
function sendBody(request: http.ClientRequest, parts: readonly (string | Uint8Array)[]): void {
  if (lengthOf(parts) <= mostJoined) {
    request.end(Buffer.concat(parts.map((part) => Buffer.from(part))));
    return;
  }
  for (const part of parts) request.write(part);
  request.end();
}

const mostJoined = 64 * 1024;

const lengthOf = (parts: readonly (string | Uint8Array)[]): number =>
  parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);

/** Time limit for discarding the rest of a response. */
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

/** By error codes of the system and of TLS. */
const reasons: readonly (readonly [code: string, reason: string])[] = [
  ["ECONNREFUSED", "the connection is refused"],
  ["ENOTFOUND", "its host name is not known"],
  ["EAI_AGAIN", "its host name cannot be looked up now"],
  ["EHOSTUNREACH", "there is no way to its host"],
  ["ENETUNREACH", "there is no way to its network"],
  ["ETIMEDOUT", "its host does not answer"],
  ["ECONNRESET", "the connection broke off"],
  ["EPIPE", "the connection broke off"],
  ["CERT_HAS_EXPIRED", "its certificate has expired"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "its certificate is signed by itself"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "its certificate is signed by nobody known"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "its certificate is signed by nobody known"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "its certificate is signed by nobody known"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "its certificate is for another host"],
];

function toConnectionFailure(error: unknown): ConnectionFailure {
  if (error instanceof ConnectionFailure) return error;
  const known = reasons.find(([code]) => hasCode(error, code));
  const isReset = /socket hang up|aborted/i.test(reasonOf(error));
  const reason = known?.[1] ?? (isReset ? "the connection broke off" : "it does not speak HTTP");
  return new ConnectionFailure(reason, { cause: error });
}

/**
 * Timeout for a silent server; `ms` 0: no limit. It waits at once, and not while nobody reads. One
 * timer for the whole response, instead of one per chunk.
 */
function watchSilence(ms: number, onSilent: () => void) {
  let since: number | undefined = performance.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    const left = (since ?? performance.now()) + ms - performance.now();
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

/** The whole text of a response; undefined if it is longer than `mostBytes`. */
export async function readText(
  response: UpstreamResponse,
  mostBytes: number,
): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.bytes()) {
    length += chunk.length;
    if (length > mostBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
