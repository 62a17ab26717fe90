/** Sends a request to a replica; separates faults of the request, the node and the server. */
import { parseJson } from "../../client/json-fields.ts";
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
import { type Refused, toRefusal } from "./refusal.ts";

export interface Question {
  /** Relative to the API's address, or to the root beside its version. */
  path: string;
  isBesideVersion?: boolean;
  /** JSON, whole or in parts. Absent: a GET. */
  body?: string | readonly (string | Uint8Array)[];
  /** The field that holds the texts, for errors about their length. */
  field?: Refused["field"];
  /** Whether an error is expected: some working servers fail where others refuse. */
  isTrial?: boolean;
  /** Most bytes of the answer, besides a common overhead. Default: room for the body's tokens. */
  mostBytes?: number;
}

/** Longest body: many vectors, or a long prompt's tokens. It is parsed on the event loop. */
const mostBytes = 16 * 1024 * 1024;
const mostErrorBytes = 64 * 1024;
/** The common overhead of an answer. */
const leastBytes = 64 * 1024;
/** Allows a token per byte sent, each as an object with its text and position. */
const bytesPerByte = 128;

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

/** Identifies a request by its body, or the beginning of a prompt. */
export function digestOf(body: Question["body"] = ""): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const part of typeof body === "string" ? [body] : body) hash.update(part);
  return hash.digest("hex");
}

/** A 2xx response. Throws a `NotBegun` if another replica may be tried, else the caller's error. */
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
      key,
      body: typeof body === "string" ? [body] : body,
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

/** Reports a refusal to the lease; returns a NotBegun if another replica may be tried. */
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
 * For reads before anything of the answer was seen. A timeout is not retried with another replica:
 * a slow prompt would be computed by each of them, and its caller has waited long enough.
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

/** The caller's error for a failed connection. */
export function toNodeError({ named }: Upstream, failure: ConnectionFailure): NodeError {
  const { message: why, isSilence } = failure;
  if (isSilence) return new NodeError("timeout", `The server of ${named} gave ${why}.`);
  return new NodeError("unavailable", `The server of ${named} cannot be reached: ${why}.`, {
    cause: failure,
  });
}

export const tooMuch = "more than was asked for";

export const garbage = ({ named }: Upstream, what: string): NodeError =>
  new NodeError("upstream_failed", `The server of ${named} answered ${what}.`);

/** Reports the replica as failed; nothing of the answer was seen. */
export function notBegun(lease: ReplicaLease, reason: NodeError, why = reason.message): NotBegun {
  lease.failed(why);
  return new NotBegun(reason);
}

/**
 * Logs errors between this node and its server for the operator; the caller does not see them. The
 * text of a server error may repeat the request, and is not logged.
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

/** A model on upstream servers, as its engines use it. */
export interface Upstream {
  /** The model in a sentence: `the model 'llama-70b'`. */
  named: string;
  upstreamModel: string;
  key?: string;
  /** How long its server may be silent before a timeout; 0: no limit. */
  silenceMs: number;
  replicas: Replicas;
  log: Log;
  /** Aborted when the model is unloaded; absent until it is opened. */
  closed?: AbortSignal;
}

/** Aborted by the caller, or when the model is unloaded. */
export const untilClosed = ({ closed }: Upstream, signal: AbortSignal): AbortSignal =>
  closed === undefined ? signal : AbortSignal.any([signal, closed]);

/** The address without the API version: `http://host:8000/v1` has `/tokenize` at its root. */
export const rootOf = (url: string): string => url.replace(/\/v1$/, "");

interface BatchBounds {
  most: number;
  atOnce: number;
}

/**
 * Splits a long list into several concurrent requests; the results are in order. One failed request
 * fails all. Those in progress end by their own signal.
 */
export async function inBatches<Item, Result>(
  items: readonly Item[],
  { most, atOnce }: BatchBounds,
  ask: (batch: readonly Item[], start: number) => Promise<readonly Result[]>,
): Promise<Result[]> {
  const starts = Array.from({ length: Math.ceil(items.length / most) }, (_, at) => at * most);
  const results = new Array<readonly Result[]>(starts.length);
  const waiting = starts.entries();
  let hasFailed = false;
  const work = async (): Promise<void> => {
    for (const [at, start] of waiting) {
      if (hasFailed) return;
      results[at] = await ask(items.slice(start, start + most), start);
    }
  };
  const workers = Array.from({ length: Math.min(atOnce, starts.length) }, async () => {
    try {
      await work();
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  });
  const outcomes = await Promise.allSettled(workers);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  return results.flat();
}
