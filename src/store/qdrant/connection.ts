/** Calls to a Qdrant server: with a timeout, retries, a circuit breaker, and the node's errors. */
import {
  QdrantClient,
  QdrantClientResourceExhaustedError,
  QdrantClientTimeoutError,
  type Schemas,
} from "@qdrant/js-client-rest";
import { copyOf, NodeError, reasonOf } from "../../core/errors.ts";

export interface QdrantOptions {
  /** `http://host:6333`, `https://host/path`. */
  url: string;
  apiKey?: string;
  /** Timeout of reads; changes may take six times as long. Default: 5000. */
  timeoutMs?: number;
}

/** Calls are retried, so each must be idempotent. */
type Call<Result> = (client: QdrantClient) => Promise<Result>;

const defaultTimeoutMs = 5000;
const changeFactor = 6;
const firstPauseMs = 150;

export class QdrantConnection {
  readonly url: string;
  readonly #hasKey: boolean;
  readonly #timeoutMs: number;
  readonly #reading: QdrantClient;
  readonly #changing: QdrantClient;
  /** Circuit breaker: after a timeout, calls fail at once for a while. */
  #openCircuit: { error: NodeError; until: number } | undefined;

  constructor({ url, apiKey = "", timeoutMs = defaultTimeoutMs }: QdrantOptions) {
    const address = qdrantAddress(url);
    const headers = {
      // Qdrant sends compressed answers in pieces, and its last piece waits for the delayed
      // acknowledgement of those before: 44 ms a search instead of one.
      "accept-encoding": "identity",
      ...(apiKey !== "" && { "api-key": checkedKey(apiKey) }),
    };
    const clientFor = (timeout: number): QdrantClient =>
      new QdrantClient({ ...address.client, headers, timeout, checkCompatibility: false });
    this.url = address.shown;
    this.#hasKey = apiKey !== "";
    this.#timeoutMs = timeoutMs;
    this.#reading = clientFor(timeoutMs);
    this.#changing = clientFor(timeoutMs * changeFactor);
  }

  read<Result>(call: Call<Result>): Promise<Result> {
    return this.#withRetries(this.#timeoutMs, () => call(this.#reading));
  }

  change<Result>(call: Call<Result>): Promise<Result> {
    return this.#withRetries(this.#timeoutMs * changeFactor, () => call(this.#changing));
  }

  async *scroll(
    collection: string,
    request: Schemas["ScrollRequest"],
  ): AsyncGenerator<Schemas["Record"][]> {
    let offset: Schemas["ScrollRequest"]["offset"] = null;
    const seen = new Set<string>();
    do {
      const from: Schemas["ScrollRequest"]["offset"] = offset;
      const page: Schemas["ScrollResult"] = await this.read(async (client) =>
        withPoints(await client.scroll(collection, { ...request, offset: from })),
      );
      yield page.points;
      offset = page.next_page_offset ?? null;
      const next = JSON.stringify(offset);
      if (offset !== null && (seen.has(next) || page.points.length === 0)) {
        const why = `Qdrant's list of the points of '${collection}' comes to no end: a page is empty or comes again. Check the server.`;
        throw new NodeError("unavailable", why);
      }
      seen.add(next);
    } while (offset !== null);
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
          if (isTimeout(error)) {
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
    const { status = 0, reason } = refusalOf(error) ?? {};
    const isOurs = status > 0 && !isPassing(status) && ![401, 403, 404].includes(status);
    const why = `Qdrant at ${this.url} ${this.#explain(error, { status, reason }, timeoutMs)}`;
    return new NodeError(isOurs ? "internal" : "unavailable", why, { cause: error });
  }

  #explain(error: unknown, { status, reason }: Refusal, timeoutMs: number): string {
    if (isTimeout(error)) {
      return `did not answer within ${timeoutMs / 1000} s. Check that it is well and not overloaded.`;
    }
    if (connectionCodeOf(error) !== undefined) {
      return `cannot be reached (${reasonOf(error)}). Check that it is running and that the address is right.`;
    }
    if (status === 0) {
      return `gave an answer that cannot be read (${reasonOf(error)}). Check that the address is a Qdrant server's.`;
    }
    if (status === 401 || status === 403) {
      const does = this.#hasKey ? "refuses the API key" : "asks for an API key";
      return `${does} (${status}). Give the node the key that the server was started with.`;
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
  const isObject = (each: unknown): boolean => typeof each === "object" && each !== null;
  if (Array.isArray(points) && points.every(isObject)) return answer;
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
  if (Number.isSafeInteger(count)) return count;
  throw new Error("it has no count");
}

/** Checked here, because the error for an invalid header would show its value, the key. */
function checkedKey(apiKey: string): string {
  if (/^[\x21-\x7e]+$/.test(apiKey)) return apiKey;
  const why =
    "The API key for the Qdrant server holds spaces or characters that a key cannot have.";
  throw new NodeError("invalid_request", why);
}

const defaultPorts: Readonly<Record<string, number>> = { "http:": 6333, "https:": 443 };

/**
 * `https://host` is a server behind a proxy, on 443; `http://host` is Qdrant itself, on 6333. `client`: for
 * its constructor, which drops a path in `url`; `shown`: for people, without a credential.
 */
export function qdrantAddress(url: string) {
  const parsed = URL.parse(url);
  const defaultPort = defaultPorts[parsed?.protocol ?? ""];
  if (parsed === null || defaultPort === undefined) {
    throw refused("is none; write it as http://host:6333 or https://host");
  }
  const { protocol, hostname, pathname } = parsed;
  if (parsed.username !== "" || parsed.password !== "") {
    throw refused(`(${hostname}) holds a credential; give the key as the API key instead`);
  }
  if (parsed.search !== "" || parsed.hash !== "") {
    throw refused(`(${hostname}) may have a path, but no query and no fragment`);
  }
  const port = explicitPort(url, parsed) ?? defaultPort;
  const origin = `${protocol}//${hostname}`;
  const prefix = pathname.replace(/\/+$/, "");
  const isUsual = protocol === "https:" && port === 443;
  return {
    shown: `${origin}${isUsual ? "" : `:${port}`}${prefix}`,
    client: { url: origin, port, prefix },
  };
}

/** A parsed URL drops its protocol's default port, but `http://host:80` must not become 6333. */
function explicitPort(url: string, { protocol, port }: URL): number | undefined {
  if (port !== "") return Number(port);
  return protocol === "http:" && /^\s*http:\/*[^/?#]*:0*80\s*(?:[/?#]|$)/i.test(url)
    ? 80
    : undefined;
}

const refused = (reason: string): NodeError =>
  new NodeError("invalid_request", `The address of the Qdrant server ${reason}.`);

interface Refusal {
  status: number;
  /** Qdrant's own message; undefined if something else answered, such as a proxy. */
  reason: string | undefined;
}

/** A timeout is not retried: that would only add load to a slow server. */
function retriesFor(error: unknown): number {
  if (isTimeout(error)) return 0;
  if (connectionCodeOf(error) !== undefined) return 2;
  const status = refusalOf(error)?.status ?? 0;
  return isPassing(status) ? 2 : 0;
}

/** 408: the server itself gave up, for example after the machine was suspended. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500;

const isTimeout = (error: unknown): boolean => error instanceof QdrantClientTimeoutError;

/** The result, or undefined if Qdrant itself answers with this status. */
export async function unlessRefused<Result>(
  status: number,
  result: Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await result;
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal?.status === status && refusal.reason !== undefined) return undefined;
    throw error;
  }
}

function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof QdrantClientResourceExhaustedError) {
    return { status: 429, reason: error.message };
  }
  // The client's class for these errors is not exported, and has no name of its own.
  if (!(error instanceof Error && "status" in error && typeof error.status === "number")) {
    return undefined;
  }
  return { status: error.status, reason: "data" in error ? reasonIn(error.data) : undefined };
}

/** `{ status: { error: "…" } }` */
function reasonIn(body: unknown): string | undefined {
  const reason = field(field(body, "status"), "error");
  return typeof reason === "string" ? reason : undefined;
}

/** The code of a connection error in Bun's `fetch`: ECONNREFUSED, ENOTFOUND, a certificate error … */
function connectionCodeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? field(error, "code") : undefined;
  return typeof code === "string" ? code : undefined;
}

function field(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}
