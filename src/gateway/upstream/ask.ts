/** Sends a request to a replica, and tells its failures apart: those of the request, of the node, and of the server. */
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { Log } from "../../core/log.ts";
import {
  NotBegun,
  type ReplicaChoice,
  type ReplicaLease,
  type Replicas,
} from "../replicas/replica.ts";
import { ConnectionFailure, exchange, readText, type UpstreamResponse } from "./http-exchange.ts";
import { parseJson } from "./json-fields.ts";
import { type Refused, toRefusal } from "./refusal.ts";

export interface Question {
  /** Under the API's address, or beside its version. */
  path: string;
  isBesideVersion?: boolean;
  /** JSON, whole or in parts; absent: a GET. */
  body?: string | readonly (string | Uint8Array)[];
  /** What holds the texts, for a refusal that is about their length. */
  field?: Refused["field"];
  /** Whether no answer is expected: some servers fail at what others refuse, and are well. */
  isTrial?: boolean;
  /** What its answer takes at most, besides what every answer has. Default: as much as the tokens of the body. */
  mostBytes?: number;
}

/** Longest body that is read at once: many vectors, or the tokens of a long prompt. It is parsed on the loop. */
const mostBytes = 16 * 1024 * 1024;
const mostErrorBytes = 64 * 1024;
/** What every answer has besides. */
const leastBytes = 64 * 1024;
/** A token for each byte that was sent, each as an object with its text and its place. */
const bytesPerByte = 128;

/** An answer is read as far as what was asked for can take. */
function mostBytesOf({ body = "", mostBytes: asked }: Question): number {
  const parts = typeof body === "string" ? [body] : body;
  const sent = parts.reduce((sum, part) => sum + part.length, 0);
  return Math.min(mostBytes, leastBytes + (asked ?? sent * bytesPerByte));
}

export async function askJson(
  upstream: Upstream,
  question: Question,
  choice: ReplicaChoice,
): Promise<unknown> {
  const request = (): string => digestOf(question.body);
  const signal = untilClosed(upstream, choice.signal);
  return await upstream.replicas.attempt({ request, ...choice, signal }, async (lease) => {
    using response = await openResponse(upstream, question, lease, signal);
    const text = await orNotBegun(upstream, lease, () => readText(response, mostBytesOf(question)));
    if (text === undefined) throw notBegun(lease, garbage(upstream, tooMuch), tooMuch);
    const body = parseJson(text);
    if (body === undefined) throw notBegun(lease, garbage(upstream, "something that is not JSON"));
    lease.succeeded();
    lease[Symbol.dispose]();
    return body;
  });
}

/** Tells the requests of a replica apart. */
export function digestOf(body: Question["body"] = ""): string {
  const hash = new Bun.CryptoHasher("sha1");
  for (const part of typeof body === "string" ? [body] : body) hash.update(part);
  return hash.digest("hex");
}

/**
 * A response of 2xx. Throws a `NotBegun` if another replica may be tried, else what the caller is told.
 */
export async function openResponse(
  upstream: Upstream,
  { path, isBesideVersion = false, body, field = "input", isTrial = false }: Question,
  lease: ReplicaLease,
  signal: AbortSignal,
): Promise<UpstreamResponse> {
  const { url } = lease;
  const { key, silenceMs } = upstream;
  const response = await orNotBegun(upstream, lease, () =>
    exchange({
      url: `${isBesideVersion ? rootOf(url) : url}${path}`,
      signal,
      silenceMs,
      ...given({ body: typeof body === "string" ? [body] : body, key }),
    }),
  );
  if (response.status >= 200 && response.status < 300) return response;
  using _ = response;
  const text = await orNotBegun(upstream, lease, () => readText(response, mostErrorBytes));
  const { status } = response;
  const retryAfter = response.header("retry-after");
  const answered = { status, body: parseJson(text ?? ""), retryAfter };
  const error = toRefusal(answered, { named: upstream.named, field });
  tellOperator(upstream, url, status, text, error);
  if (status === 502) throw notBegun(lease, error, `status ${status}`);
  const isWell = status < 500 && status !== 429;
  if (!isWell && status !== 504 && !(isTrial && error.kind === "upstream_failed")) {
    throw refusedBy(lease, error);
  }
  if (status === 504) lease.failed(`status ${status}`);
  else lease.succeeded();
  throw error;
}

/** What a refusal says of the replica; a NotBegun if another may be tried. */
export function refusedBy(lease: ReplicaLease, reason: NodeError): Error {
  const { kind, message, retryAfterMs } = reason;
  const isBusy = ["unavailable", "overloaded", "model_not_ready", "too_many_requests"];
  if (kind === "upstream_failed") lease.faulted(message);
  else if (isBusy.includes(kind)) lease.overloaded(retryAfterMs);
  else {
    lease.succeeded();
    return reason;
  }
  return new NotBegun(reason);
}

/**
 * Reads from a connection before anything of the answer was seen. Silence is not retried with another
 * replica: a slow prompt would be computed by each of them, and its caller has waited for long.
 */
export async function orNotBegun<Result>(
  upstream: Upstream,
  lease: ReplicaLease,
  read: () => Promise<Result>,
): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ConnectionFailure)) throw error;
    const reason = notBegun(lease, toNodeError(upstream, error), error.message);
    throw error.isSilence ? reason.reason : reason;
  }
}

/** What the caller is told of a connection that failed. */
export function toNodeError({ named }: Upstream, failure: ConnectionFailure): NodeError {
  const { message: why, isSilence } = failure;
  if (isSilence) return new NodeError("timeout", `The server of ${named} gave ${why}.`);
  return new NodeError("unavailable", `The server of ${named} cannot be reached: ${why}.`, {
    cause: failure,
  });
}

/** Of an answer that has no end. */
export const tooMuch = "more than was asked for";

/** What no working server answers. */
export const garbage = ({ named }: Upstream, what: string): NodeError =>
  new NodeError("upstream_failed", `The server of ${named} answered ${what}.`);

/** Nothing of the answer was seen, and the replica is not well. */
export function notBegun(lease: ReplicaLease, reason: NodeError, why = reason.message): NotBegun {
  lease.failed(why);
  return new NotBegun(reason);
}

/**
 * The caller learns what it can do; what the server said of this node is for its operator. Why a
 * server failed may repeat what it was asked, and is not written.
 */
function tellOperator(
  { named, key, log }: Upstream,
  url: string,
  status: number,
  text: string | undefined,
  { kind }: NodeError,
): void {
  if (kind !== "upstream_refused" && kind !== "upstream_failed") return;
  const said = kind === "upstream_refused" ? (text ?? "").slice(0, mostLogged) : undefined;
  log.warn("an upstream server refused or failed", {
    of: named,
    url,
    status,
    ...given({ said: key === undefined ? said : said?.replaceAll(key, "…") }),
  });
}

const mostLogged = 500;

/** A model on upstream servers, as its engines know it. */
export interface Upstream {
  /** What it is in a sentence: `the model 'llama-70b'`. */
  named: string;
  upstreamModel: string;
  key?: string;
  /** How long its server may be silent while it is waited for; 0: no bound. */
  silenceMs: number;
  replicas: Replicas;
  log: Log;
  /** Aborted when the model is unloaded; absent until it is opened. */
  closed?: AbortSignal;
}

/** A caller's signal, or the end of the model. */
export const untilClosed = ({ closed }: Upstream, signal: AbortSignal): AbortSignal =>
  closed === undefined ? signal : AbortSignal.any([signal, closed]);

/** The addresses beside the API's version: `/tokenize` of `http://host:8000/v1` is at `http://host:8000`. */
export const rootOf = (url: string): string => url.replace(/\/v1$/, "");
