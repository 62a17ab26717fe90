/** One question to a server, through its redirects, with the token for the hub's eyes only. */
import { NodeError, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import { isLoopback } from "../../core/loopback.ts";
import { type Hub, isOfHub } from "./hub.ts";
import { checkRedirect } from "./redirects.ts";

export interface Question {
  url: string;
  method?: "GET" | "HEAD";
  headers?: Readonly<Record<string, string>>;
  hub: Hub;
  signal: AbortSignal;
  /** A redirect that leaves the hub is the answer; default: it is followed. */
  staysAtHub?: boolean;
  /** How long the answer may take to begin; default: as long as the signal lets it. */
  timeoutMs?: number;
}

export interface Answer {
  response: Response;
  /** Where the answer came from in the end. */
  url: string;
  /** What the hub said of the file on the way: its sha256, its size, and the commit that it is of. */
  digest?: string;
  size?: number;
  commit?: string;
}

/** The connection, not the answer, is at fault: trying again may help. */
export class Interruption extends Error {
  override readonly name = "Interruption";
}

const mostRedirects = 10;
const isRedirect = new Set([301, 302, 303, 307, 308]);

export async function ask({
  url,
  method = "GET",
  headers = {},
  hub,
  signal,
  staysAtHub = false,
  timeoutMs,
}: Question): Promise<Answer> {
  let from = url;
  const said: Said = {};
  for (let step = 0; step <= mostRedirects; step++) {
    checkAddress(hub, from);
    const response = await send(
      from,
      method,
      { ...headers, ...authorization(hub, from) },
      signal,
      timeoutMs,
    );
    if (isOfHub(hub, from)) Object.assign(said, readLinked(response.headers));
    const location = response.headers.get("location");
    if (!isRedirect.has(response.status) || location === null) {
      return { response, url: from, ...said };
    }
    await response.body?.cancel();
    const to = URL.parse(location, from)?.href;
    if (to === undefined) {
      const { host } = new URL(from);
      throw new NodeError("unavailable", `${host} redirects to something that is no address.`);
    }
    if (staysAtHub && !isOfHub(hub, to)) return { response, url: from, ...said };
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
      // What is stored must be what is counted and hashed.
      headers: { "accept-encoding": "identity", ...headers },
      decompress: false,
      redirect: "manual",
      signal: AbortSignal.any([signal, ...end]),
    });
  } catch (cause) {
    signal.throwIfAborted();
    throw new Interruption(`${new URL(url).host} cannot be reached (${reasonOf(cause)})`, {
      cause,
    });
  }
}

/** Plain http leads to this machine or to the mirror that was chosen. */
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
  if (hub.token === undefined || !isOfHub(hub, url)) return {};
  const { protocol, hostname } = new URL(url);
  if (protocol !== "https:" && !isLoopback(hostname)) return {};
  return { authorization: `Bearer ${hub.token}` };
}

type Said = Pick<Answer, "digest" | "size" | "commit">;

function readLinked(headers: Headers): Said {
  const etag = headers.get("x-linked-etag") ?? headers.get("etag") ?? "";
  const digest = /^(?:W\/)?"?([0-9a-f]{64})"?$/i.exec(etag)?.[1];
  const size = Number(headers.get("x-linked-size") ?? Number.NaN);
  const commit = /^[0-9a-f]{40}$/i.exec(headers.get("x-repo-commit") ?? "")?.[0];
  return {
    ...given({ digest: digest?.toLowerCase(), commit: commit?.toLowerCase() }),
    ...(Number.isSafeInteger(size) ? { size } : {}),
  };
}
