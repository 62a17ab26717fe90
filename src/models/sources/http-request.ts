/** HTTP requests for models: redirects, retries, and error messages with advice. */
import { setTimeout as sleep } from "node:timers/promises";
import { isLoopback } from "../../core/address-range.ts";
import { byteSize } from "../../core/byte-size.ts";
import { connectionReason } from "../../core/connection-reason.ts";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import { type Hub, isOfHub } from "./hub-reference.ts";
import { checkRedirect } from "./redirects.ts";

export interface RequestOptions {
  url: string;
  method?: "GET" | "HEAD";
  headers?: Readonly<Record<string, string>>;
  hub: Hub;
  signal: AbortSignal;
  /** Returns a redirect that leaves the hub as the response; default: it is followed. */
  staysAtHub?: boolean;
  /** How long the response may take to begin; default: until the signal is aborted. */
  timeoutMs?: number;
}

export interface SourceResponse {
  response: Response;
  url: string;
  /** From the hub's headers on the way: the file's sha256, its size, and its commit. */
  digest?: string;
  size?: number;
  commit?: string;
}

/** A transient failure, of the connection or of a server: retrying may help. */
export class RetryableError extends Error {
  override readonly name = "RetryableError";
}

const mostRedirects = 10;
const isRedirect = new Set([301, 302, 303, 307, 308]);

export async function sendRequest(options: RequestOptions): Promise<SourceResponse> {
  const { url, hub, staysAtHub = false } = options;
  let from = url;
  const facts: HubFacts = {};
  for (let step = 0; step <= mostRedirects; step++) {
    checkAddress(hub, from);
    const response = await send(from, options);
    if (isOfHub(hub, from)) Object.assign(facts, readLinked(response.headers));
    const location = response.headers.get("location");
    if (!isRedirect.has(response.status) || location === null) {
      return { response, url: from, ...facts };
    }
    await response.body?.cancel();
    const to = URL.parse(location, from)?.href;
    if (to === undefined) {
      const { host } = new URL(from);
      throw new NodeError("unavailable", `${host} redirects to something that is no address.`);
    }
    if (staysAtHub && !isOfHub(hub, to)) return { response, url: from, ...facts };
    await checkRedirect({ began: url, from, to });
    from = to;
  }
  throw new NodeError("unavailable", `${new URL(url).host} redirects without end.`);
}

async function send(
  url: string,
  { method = "GET", headers, hub, signal, timeoutMs }: RequestOptions,
): Promise<Response> {
  const end = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
  try {
    return await fetch(url, {
      method,
      // Without compression, so that the stored bytes are those that are counted and hashed.
      headers: { "accept-encoding": "identity", ...headers, ...authorization(hub, url) },
      decompress: false,
      redirect: "manual",
      signal: AbortSignal.any([signal, ...end]),
    });
  } catch (cause) {
    signal.throwIfAborted();
    const why = connectionReason(cause) ?? reasonOf(cause);
    throw new RetryableError(`${new URL(url).host} cannot be reached (${why})`, { cause });
  }
}

/** Plain http is allowed to this machine and to the configured mirror only. */
function checkAddress(hub: Hub, url: string): void {
  const { protocol, hostname, host } = new URL(url);
  if (protocol === "https:") return;
  if (protocol === "http:" && (isLoopback(hostname) || isOfHub(hub, url))) return;
  throw new NodeError(
    "invalid_request",
    `A model is not fetched from ${protocol}//${host}: it must be an https:// address, or http:// on this machine.`,
  );
}

function authorization(hub: Hub, url: string): Record<string, string> {
  const { token, basic } = hub;
  if ((token ?? basic) === undefined || !isOfHub(hub, url)) return {};
  const { protocol, hostname } = new URL(url);
  if (protocol !== "https:" && !isLoopback(hostname)) return {};
  return { authorization: token === undefined ? `Basic ${basic}` : `Bearer ${token}` };
}

type HubFacts = Pick<SourceResponse, "digest" | "size" | "commit">;

function readLinked(headers: Headers): HubFacts {
  const etag = headers.get("x-linked-etag") ?? headers.get("etag") ?? "";
  const digest = /^(?:W\/)?"?([0-9a-f]{64})"?$/i.exec(etag)?.[1];
  const size = Number(headers.get("x-linked-size") ?? Number.NaN);
  const commit = /^[0-9a-f]{40}$/i.exec(headers.get("x-repo-commit") ?? "")?.[0];
  return {
    ...given({ digest: digest?.toLowerCase(), commit: commit?.toLowerCase() }),
    ...(Number.isSafeInteger(size) ? { size } : {}),
  };
}

export interface RetryOptions {
  hub: Hub;
  signal: AbortSignal;
  /** The first pause of the backoff; default: half a second. */
  pauseMs?: number;
}

interface Retries extends Omit<RetryOptions, "hub"> {
  mostTries: number;
  /** Whether a failed attempt made progress, which resets the count. */
  hasProgressed?: () => Promise<boolean>;
  giveUp: (last: RetryableError) => NodeError | Promise<NodeError>;
}

export async function withRetries<Result>(
  attempt: () => Promise<Result>,
  { signal, pauseMs = 500, mostTries, hasProgressed, giveUp }: Retries,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RetryableError)) throw error;
      if (await hasProgressed?.()) tries = 0;
      if (tries >= mostTries) throw await giveUp(error);
      await sleep(pauseMs * 2 ** tries, undefined, { signal });
    }
  }
}

export const responseTimeoutMs = 30_000;

/** Short requests, such as for metadata, retried when the connection fails. */
export async function requestWithRetry(
  question: Omit<RequestOptions, "hub" | "signal" | "timeoutMs">,
  subject: Subject,
  { hub, ...retries }: RetryOptions,
): Promise<SourceResponse> {
  const attempt = async (): Promise<SourceResponse> => {
    const { signal } = retries;
    const answer = await sendRequest({ ...question, hub, signal, timeoutMs: responseTimeoutMs });
    // With `staysAtHub`, a redirect away from the hub is the response that was asked for.
    const { status } = answer.response;
    if (status < 300 || status >= 400) await refuse(answer, subject);
    return answer;
  };
  return await withRetries(attempt, {
    ...retries,
    mostTries: 3,
    giveUp: (last) => unreachable(subject, last),
  });
}

export const unreachable = (subject: Subject, cause: RetryableError, more = ""): NodeError =>
  new NodeError(
    "unavailable",
    `${cannotBeFetched(subject)} ${cause.message}. Check the network (HTTPS_PROXY names a proxy), or name a file that is on this machine.${more}`,
    { cause },
  );

const mostBytes = 1_000_000;

/** Undefined if the body is too long or not JSON, or the connection is lost. */
export async function readJson({ body }: Response): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body ?? []) {
      length += chunk.length;
      if (length > mostBytes) return undefined;
      chunks.push(chunk);
    }
    return JSON.parse(new TextDecoder().decode(Buffer.concat(chunks)));
  } catch {
    return undefined;
  }
}

export interface Subject {
  /** The source as the operator wrote it. */
  source: string;
  what?: "model" | "package";
  hub: Hub;
  /** `owner/repo`, for a model of the hub. */
  repository?: string;
  wanted?: string;
}

export const cannotBeFetched = ({ what = "model", source }: Subject): string =>
  `The ${what} '${source}' cannot be fetched:`;

/** Throws for an error response; 416 is left to the caller. */
export async function refuse({ response, url }: SourceResponse, subject: Subject): Promise<void> {
  const { status } = response;
  if (response.ok || status === 416) return;
  await response.body?.cancel();
  if (status === 408 || status === 429 || status >= 500) {
    throw new RetryableError(`${new URL(url).host} answers ${status}`);
  }
  throw new NodeError("unavailable", explain(response, url, subject));
}

function explain({ status, headers }: Response, url: string, subject: Subject): string {
  const { hub, repository, wanted } = subject;
  const code = headers.get("x-error-code") ?? "";
  const start = cannotBeFetched(subject);
  const { host } = new URL(url);
  if (repository === undefined || !isOfHub(hub, url)) {
    if (status === 404) return `${start} ${host} has no ${new URL(url).pathname}.`;
    return `${start} ${host} answers ${status}.`;
  }
  const page = `${hub.endpoint}/${repository}`;
  if (code === "GatedRepo" || status === 403) {
    return hub.token === undefined
      ? `${start} the repository ${repository} is gated. Accept its terms at ${page}, make a token that may read it, and set HF_TOKEN.`
      : `${start} the token in HF_TOKEN may not read the repository ${repository}. Accept its terms at ${page} with the account of the token.`;
  }
  if (status === 401) {
    return hub.token === undefined
      ? `${start} the repository ${repository} is not there, or it is gated or private. Look at ${page}; if it is gated, accept its terms and set HF_TOKEN to a token that may read it.`
      : `${start} the hub does not take the token in HF_TOKEN for ${repository}.`;
  }
  if (status === 404 || status === 400) {
    return code === "RepoNotFound"
      ? `${start} the hub has no repository ${repository}.`
      : `${start} the repository ${repository} has no ${wanted ?? "such file"}. Look at ${page}/tree/main.`;
  }
  return `${start} the hub answers ${status}.`;
}

export interface IdleOptions {
  signal: AbortSignal;
  /** How long the server may send next to nothing; default: a minute. */
  stallMs?: number;
}

/** What must come meanwhile: a server that sends a byte now and then would hold a pull for ever. */
const leastBytes = 64_000;

/** Fails with a RetryableError if `heard` is not told of `leastBytes` within `stallMs`. */
export async function withIdleTimeout<Result>(
  url: string,
  { signal, stallMs = 60_000 }: IdleOptions,
  work: (inTime: AbortSignal, heard: (bytes: number) => void) => Promise<Result>,
): Promise<Result> {
  const idle = new AbortController();
  const timer = setTimeout(() => idle.abort(), stallMs);
  let bytes = 0;
  const heard = (more: number): void => {
    bytes += more;
    if (bytes < leastBytes) return;
    bytes = 0;
    timer.refresh();
  };
  try {
    return await work(AbortSignal.any([signal, idle.signal]), heard);
  } catch (error) {
    signal.throwIfAborted();
    if (!idle.signal.aborted) throw error;
    const sent = bytes === 0 ? "nothing" : `only ${byteSize(bytes)}`;
    throw new RetryableError(`${new URL(url).host} sent ${sent} in ${stallMs / 1000} s`);
  } finally {
    clearTimeout(timer);
  }
}
