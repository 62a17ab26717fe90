/** One HTTP request, followed through redirects, with the token sent to the hub only. */
import { NodeError, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import { isLoopback } from "../../core/loopback.ts";
import { type Hub, isOfHub } from "./hub.ts";
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
  /** Where the response came from, after redirects. */
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

export async function sendRequest({
  url,
  method = "GET",
  headers = {},
  hub,
  signal,
  staysAtHub = false,
  timeoutMs,
}: RequestOptions): Promise<SourceResponse> {
  let from = url;
  const facts: HubFacts = {};
  for (let step = 0; step <= mostRedirects; step++) {
    checkAddress(hub, from);
    const response = await send(
      from,
      method,
      { ...headers, ...authorization(hub, from) },
      signal,
      timeoutMs,
    );
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
  method: string,
  headers: Record<string, string>,
  signal: AbortSignal,
  timeoutMs?: number,
): Promise<Response> {
  const end = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
  try {
    return await fetch(url, {
      method,
      // Without compression, so that the stored bytes are those that are counted and hashed.
      headers: { "accept-encoding": "identity", ...headers },
      decompress: false,
      redirect: "manual",
      signal: AbortSignal.any([signal, ...end]),
    });
  } catch (cause) {
    signal.throwIfAborted();
    throw new RetryableError(`${new URL(url).host} cannot be reached (${reasonOf(cause)})`, {
      cause,
    });
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
