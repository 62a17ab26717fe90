/** Sends a request to a replica; separates faults of the request, the node and the server. */
import { parseJson } from "../../client/json-fields.ts";
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import { JsonSize, largeJson } from "../../core/json-size.ts";
import type { Log } from "../../core/log.ts";
import { Turns } from "../../core/turns.ts";
import {
  NotBegun,
  type ReplicaChoice,
  type ReplicaLease,
  type Replicas,
} from "../replicas/replica.ts";
import {
  type Body,
  ConnectionFailure,
  exchange,
  lengthOf,
  readText,
  type UpstreamResponse,
} from "./http-exchange.ts";
import { type Refused, toRefusal } from "./refusal.ts";

export interface Question {
  /** Relative to the API's address, or to the root beside its version. */
  path: string;
  isBesideVersion?: boolean;
  /** JSON, in parts, so that requests can share a large one. */
  body: Body;
  /** The field that holds the texts, for errors about their length. */
  field?: Refused["field"];
  /** Most bytes of the answer, besides a common overhead. Default: room for the body's tokens. */
  mostBytes?: number;
  /** Most values of the answer. Default: as many as a request may have. */
  mostValues?: number;
  /** Most properties of its objects. The same. */
  mostKeys?: number;
}

/** Longest body: many vectors, or a long prompt's tokens. It is parsed on the event loop. */
const mostBytes = 16 * 1024 * 1024;
const mostErrorBytes = 64 * 1024;
const leastBytes = 64 * 1024;
/** Allows a token per byte sent, each as an object with its text and position. */
const bytesPerByte = 128;

function mostBytesOf({ body, mostBytes: asked = lengthOf(body) * bytesPerByte }: Question): number {
  return Math.min(mostBytes, leastBytes + asked);
}

/** `read` throws for an answer of a wrong shape, so that another replica is asked. */
export async function askJson<Result>(
  upstream: Upstream,
  question: Question,
  signal: AbortSignal,
  read: (answer: unknown) => Result,
): Promise<Result> {
  const request = (): string => digestOf(question.body);
  return await attempt(upstream, { request, signal }, async (lease, signal) => {
    using _ = lease;
    using response = await openResponse(upstream, question, lease.url, signal);
    const text = await readText(response, mostBytesOf(question), upstream.silenceMs);
    if (text === undefined || (await holdsTooMuch(text, question))) {
      throw isByTexts(question) ? textsTooLong(upstream) : new BadAnswer(tooMuch);
    }
    const body = await parsed(text);
    if (body === undefined) throw new BadAnswer("something that is not JSON");
    return read(body);
  });
}

/** To fewer bytes no honest answer is beyond the bounds, at ten properties or values for each. */
const leastByTexts = 10_000;

/** Whether an answer may be too large by the caller's texts, which its size depends on: each token is described. */
const isByTexts = ({ mostBytes, body }: Question): boolean =>
  mostBytes === undefined && lengthOf(body) > leastByTexts;

/** Says nothing against the replica, which may be right; another one may answer with less. */
const textsTooLong = ({ named }: Upstream): NotBegun => {
  const why = `The server of ${named} answers such long texts with more than the node reads. Send shorter ones.`;
  return new NotBegun(new NodeError("payload_too_large", why));
};

const largeAnswers = new Turns();
const encoder = new TextEncoder();

/** What a server sent; undefined if it is not JSON, is nested too deep or holds too much. */
export const parseAnswer = async (text: string): Promise<unknown> =>
  (await holdsTooMuch(text)) ? undefined : await parsed(text);

async function holdsTooMuch(
  text: string,
  { mostValues, mostKeys }: Pick<Question, "mostValues" | "mostKeys"> = {},
): Promise<boolean> {
  const size = new JsonSize(mostValues, mostKeys);
  return (await size.addInSlices(encoder.encode(text))) !== undefined;
}

async function parsed(text: string): Promise<unknown> {
  if (text.length > largeJson) await largeAnswers.next();
  return parseJson(text);
}

/** Identifies a request by its body, or the beginning of a prompt. */
export function digestOf(body: Body): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const part of body) hash.update(part);
  return hash.digest("hex");
}

/** An invalid answer, or more than was asked for; the request may be why. Its `cause` may be the caller's error. */
export class BadAnswer extends Error {
  override readonly name = "BadAnswer";
}

/** A status below 500 that says nothing against the server: no other one is asked. */
class Declined extends Error {
  override readonly name = "Declined";
  readonly reason: NodeError;

  constructor(reason: NodeError) {
    super(reason.message);
    this.reason = reason;
  }
}

/** Begins an answer at a replica, and reports to it how that went; another may be tried. */
export async function attempt<Result>(
  upstream: Upstream,
  choice: ReplicaChoice,
  begin: (lease: ReplicaLease, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const signal = untilClosed(upstream, choice.signal);
  return await upstream.replicas.attempt({ ...choice, signal }, async (lease) => {
    try {
      const result = await begin(lease, signal);
      lease.succeeded();
      return result;
    } catch (error) {
      throw signal.aborted ? signal.reason : blame(upstream, lease, error);
    }
  });
}

/** Another replica may have room, the model, or take the key. */
const sparedKinds = [
  "unavailable",
  "overloaded",
  "model_not_ready",
  "too_many_requests",
  "upstream_refused",
];

/** Reports a failed attempt to the replica; returns a `NotBegun` if another one may be tried. */
function blame(upstream: Upstream, lease: ReplicaLease, error: unknown): unknown {
  if (error instanceof BadAnswer) {
    lease.faulted(error.message);
    return new NotBegun(toNodeError(upstream, error));
  }
  if (error instanceof ConnectionFailure) {
    lease.failed(error.message);
    const reason = toNodeError(upstream, error);
    // A slow prompt would be computed by each replica, and its caller has waited long enough.
    return error.isSilence ? reason : new NotBegun(reason);
  }
  if (error instanceof Declined) {
    lease.succeeded();
    return error.reason;
  }
  if (!(error instanceof NodeError)) return error;
  const { kind, message, retryAfterMs } = error;
  if (kind === "upstream_failed") {
    lease.faulted(message);
    return new NotBegun(error);
  }
  if (sparedKinds.includes(kind)) {
    lease.overloaded(retryAfterMs);
    return new NotBegun(error, true);
  }
  if (kind === "timeout") lease.faulted(message);
  else lease.succeeded();
  return error;
}

/** A 2xx response; throws the caller's error for any other status. */
export async function openResponse(
  upstream: Upstream,
  { path, isBesideVersion = false, body, field = "input" }: Question,
  url: string,
  signal: AbortSignal,
): Promise<UpstreamResponse> {
  const { key, silenceMs, named } = upstream;
  const address = `${isBesideVersion ? rootOf(url) : url}${path}`;
  const response = await exchange({ url: address, signal, silenceMs, key, body });
  const { status } = response;
  if (status >= 200 && status < 300) return response;
  using _ = response;
  const text = (await readText(response, mostErrorBytes, silenceMs)) ?? "";
  const retryAfter = response.header("retry-after");
  const answered = { status, body: await parseAnswer(text), retryAfter };
  const error = toRefusal(answered, { named, field, key });
  tellOperator(upstream, url, status, text, error);
  // A proxy's word for a server that is down.
  if (status === 502) throw new ConnectionFailure(`status ${status}`, { cause: error });
  throw status < 500 && error.kind === "upstream_failed" ? new Declined(error) : error;
}

export function toNodeError(
  { named }: Upstream,
  failure: ConnectionFailure | BadAnswer,
): NodeError {
  const { message: why, cause } = failure;
  if (failure instanceof BadAnswer)
    return cause instanceof NodeError ? cause : garbage({ named }, why);
  if (cause instanceof NodeError)
    return new NodeError(cause.kind, cause.message, { cause: failure });
  if (failure.isSilence) return new NodeError("timeout", `The server of ${named} gave ${why}.`);
  return new NodeError("unavailable", `The server of ${named} cannot be reached: ${why}.`, {
    cause: failure,
  });
}

export const tooMuch = "more than was asked for";

export const garbage = ({ named }: Pick<Upstream, "named">, what: string): NodeError =>
  new NodeError("upstream_failed", `The server of ${named} answered ${what}.`);

/** For the operator only. The text of a server error may repeat the request, and is not logged. */
function tellOperator(
  { named, key, log }: Upstream,
  url: string,
  status: number,
  text: string,
  { kind }: NodeError,
): void {
  if (kind !== "upstream_refused" && kind !== "upstream_failed") return;
  const said = kind === "upstream_refused" ? text.slice(0, mostLogged) : undefined;
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

const untilClosed = ({ closed }: Upstream, signal: AbortSignal): AbortSignal =>
  closed === undefined ? signal : AbortSignal.any([signal, closed]);

/** The address without the API version: `http://host:8000/v1` has `/tokenize` at its root. */
export const rootOf = (url: string): string => url.replace(/\/v1$/, "");

/** Splits a list into concurrent requests, with the results in order; one that fails fails all. */
export async function inBatches<Item, Result>(
  items: readonly Item[],
  { most, atOnce }: { most: number; atOnce: number },
  ask: (batch: readonly Item[], start: number) => Promise<readonly Result[]>,
): Promise<Result[]> {
  const results: (readonly Result[])[] = [];
  const starts = startsOf(items.length, most);
  const workers = Array.from({ length: atOnce }, async () => {
    // A failure here ends the generator, and with it the other workers.
    for (const start of starts) {
      results[start / most] = await ask(items.slice(start, start + most), start);
    }
  });
  const outcomes = await Promise.allSettled(workers);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  return results.flat();
}

function* startsOf(length: number, most: number): Generator<number> {
  for (let start = 0; start < length; start += most) yield start;
}
