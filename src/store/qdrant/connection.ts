/** Calls to a Qdrant server: with retries, a circuit breaker, checked answers, and the node's errors. */
import type { Schemas } from "@qdrant/js-client-rest";
import { connectionReason } from "../../core/connection-reason.ts";
import { copyOf, NodeError, reasonOf } from "../../core/errors.ts";
import { qdrantAddress } from "./address.ts";
import { field, QdrantApi, Refusal, TimedOut, TooLarge } from "./api.ts";
import { isAfter, pointId } from "./points.ts";

export interface QdrantOptions {
  /** `http://host:6333`, `https://host/path`. */
  url: string;
  apiKey?: string;
  /** Timeout of reads; changes may take six times as long. Default: 5000. */
  timeoutMs?: number;
}

/** Calls are retried, so each must be idempotent. */
type Call<Result> = (api: QdrantApi) => Promise<Result>;

/** One page of the points of a collection; `next` is null after the last. */
export interface PointPage {
  points: Schemas["Record"][];
  next: string | null;
}

const defaultTimeoutMs = 5000;
const changeFactor = 6;
const firstPauseMs = 150;

export class QdrantConnection {
  readonly url: string;
  readonly #hasKey: boolean;
  readonly #timeoutMs: number;
  readonly #reading: QdrantApi;
  readonly #changing: QdrantApi;
  /** Circuit breaker: after a timeout, calls fail at once for a while. */
  #openCircuit: { error: NodeError; until: number } | undefined;

  constructor({ url, apiKey = "", timeoutMs = defaultTimeoutMs }: QdrantOptions) {
    this.url = qdrantAddress(url);
    this.#hasKey = apiKey !== "";
    this.#timeoutMs = timeoutMs;
    this.#reading = new QdrantApi({ url, apiKey, timeoutMs });
    this.#changing = new QdrantApi({ url, apiKey, timeoutMs: timeoutMs * changeFactor });
  }

  read<Result>(call: Call<Result>): Promise<Result> {
    return this.#withRetries(this.#timeoutMs, () => call(this.#reading));
  }

  change<Result>(call: Call<Result>): Promise<Result> {
    return this.#withRetries(this.#timeoutMs * changeFactor, () => call(this.#changing));
  }

  /** Points in the order of their ids, from one on. */
  async page(
    collection: string,
    request: Schemas["ScrollRequest"] & { limit: number },
    { from, mostBytes }: { from: string | null; mostBytes: number },
  ): Promise<PointPage> {
    const offset = from === null ? null : pointId(from);
    const { points, next } = await this.read(async (api) => {
      const page = withPoints(await api.scroll(collection, { ...request, offset }, mostBytes));
      return { points: page.points.slice(0, request.limit), next: nextIn(page) };
    });
    const isLater = from === null || next === null || isAfter(next, from);
    if (isLater && (next === null || points.length > 0)) return { points, next };
    const why = `Qdrant's list of the points of '${collection}' comes to no end: a page is empty or comes again. Check the server.`;
    throw new NodeError("unavailable", why);
  }

  async #withRetries<Result>(timeoutMs: number, call: () => Promise<Result>): Promise<Result> {
    if (this.#openCircuit !== undefined && performance.now() < this.#openCircuit.until) {
      throw copyOf(this.#openCircuit.error);
    }
    for (let tried = 0; ; tried++) {
      try {
        const result = await call();
        this.#openCircuit = undefined;
        return result;
      } catch (error) {
        if (tried >= retriesFor(error)) {
          const known = this.#toNodeError(error, timeoutMs);
          if (error instanceof TimedOut) {
            this.#openCircuit = { error: known, until: performance.now() + this.#timeoutMs };
          }
          throw known;
        }
      }
      await Bun.sleep(firstPauseMs * 2 ** tried * (0.5 + Math.random()));
    }
  }

  #toNodeError(error: unknown, timeoutMs: number): NodeError {
    if (error instanceof NodeError) return error;
    const isRefused = error instanceof Refusal && isFinal(error.status);
    const why = `Qdrant at ${this.url} ${this.#explain(error, timeoutMs)}`;
    return new NodeError(isRefused ? "upstream_refused" : "unavailable", why, { cause: error });
  }

  #explain(error: unknown, timeoutMs: number): string {
    if (error instanceof Refusal) return this.#explainRefusal(error);
    if (error instanceof TimedOut) {
      return `did not answer within ${timeoutMs / 1000} s. Check that it is well and not overloaded.`;
    }
    if (error instanceof TooLarge) {
      return `gave an answer that is larger than what was asked for can be (${error.mostBytes >> 10} KiB). Check that the address is a Qdrant server's, and that its points hold passages.`;
    }
    if (isConnectionError(error)) {
      return `cannot be reached (${connectionReason(error) ?? reasonOf(error)}). Check that it is running and that the address is right.`;
    }
    return `gave an answer that cannot be read (${reasonOf(error)}). Check that the address is a Qdrant server's.`;
  }

  #explainRefusal({ status, reason }: Refusal): string {
    if (status === 401 || status === 403) {
      const does = this.#hasKey ? "refuses the API key" : "asks for an API key";
      return `${does} (${status}). Give the node the key that the server was started with.`;
    }
    if (status < 400) {
      return `leads to another address (${status}), which is not followed. Give the node the address of the server itself.`;
    }
    if (status === 404 && reason === undefined) {
      return "knows no such path (404). Check that the address is a Qdrant server's.";
    }
    const because = `${status}${reason === undefined ? "" : `: ${reason}`}`;
    if (status === 404) return `does not have what was asked for (${because}).`;
    if (isPassing(status)) return `cannot answer now (${because}). Try again later.`;
    return `refused a request (${because}).`;
  }
}

/** Within a call, so that an answer of another shape is the server's failure. */
export function withPoints<Answer extends { points: readonly object[] }>(answer: Answer): Answer {
  const points: unknown = answer.points;
  const isPoint = (each: unknown): boolean => idIn(field(each, "id")) !== undefined;
  if (Array.isArray(points) && points.every(isPoint)) return answer;
  throw new Error("it has no list of points");
}

/** The same for a search, whose points are ranked. */
export function withScores<Answer extends { points: readonly { score: number }[] }>(
  answer: Answer,
): Answer {
  if (withPoints(answer).points.every(({ score }) => Number.isFinite(score))) return answer;
  throw new Error("it has points without a score");
}

/** The same for a count: what has none is not nothing. */
export function countIn({ count }: { count: number }): number {
  if (Number.isSafeInteger(count) && count >= 0) return count;
  throw new Error("it has no count");
}

function nextIn({ next_page_offset: next }: Schemas["ScrollResult"]): string | null {
  if (next === undefined || next === null) return null;
  const id = idIn(next);
  if (id === undefined) throw new Error("it has no id of a next page");
  return id;
}

function idIn(value: unknown): string | undefined {
  if (typeof value !== "string" && !Number.isSafeInteger(value)) return undefined;
  try {
    pointId(String(value));
    return String(value);
  } catch {
    return undefined;
  }
}

/** A timeout is not retried: that would only add load to a slow server. */
function retriesFor(error: unknown): number {
  if (error instanceof Refusal) return isPassing(error.status) ? 2 : 0;
  return isConnectionError(error) ? 2 : 0;
}

/** 408: the server itself gave up, for example after the machine was suspended. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500;

/** The server understood, and does not do it; the same request will not succeed later. */
const isFinal = (status: number): boolean =>
  status >= 400 && !isPassing(status) && ![401, 403, 404].includes(status);

/** The result, or undefined if Qdrant itself answers with this status. */
export async function unlessRefused<Result>(
  status: number,
  result: Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await result;
  } catch (error) {
    const isIt = error instanceof Refusal && error.status === status && error.reason !== undefined;
    if (isIt) return undefined;
    throw error;
  }
}

/** Of Bun's `fetch`, with a code: ECONNREFUSED, ENOTFOUND, a certificate error … */
const isConnectionError = (error: unknown): boolean =>
  error instanceof Error && typeof field(error, "code") === "string";
