/** Checks a request's host, origin and proxy headers; and CORS. */
import { NodeError } from "../../core/errors.ts";
import { quoted } from "../../core/quoted.ts";
import type { Access } from "./authentication.ts";

const own = /^(localhost|[a-z0-9.-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Rejects a request for a host that is neither this machine nor allowed. Against DNS rebinding: an
 * attacker's page can point its own name at 127.0.0.1 and send requests to what listens there, but
 * those requests still name the attacker's host.
 */
export function checkHost(request: Request, allowed: readonly string[]): void {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  const name = host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
  if (own.test(name) || allowed.some((other) => other.toLowerCase() === name)) return;
  throw new NodeError(
    "unknown_host",
    `This node listens on loopback, and answers to this machine's own names; the request is for ${quoted(host)}. If that is one of its names, add it to [http] allowed_hosts (PADDOCK_ALLOWED_HOSTS).`,
  );
}

/** Methods that change nothing; without CORS, no page can read the answer. */
const safe: readonly string[] = ["GET", "HEAD", "OPTIONS"];

/**
 * Rejects a request that may change something and comes from a page of an origin that is neither the
 * node's own nor allowed. Against cross-site request forgery: a browser sends a form, a file included,
 * to any address, and a node without keys on loopback would accept it. Programs send none of these
 * headers, and pages cannot leave them out.
 */
export function checkOrigin({ method, headers }: Request, allowed: readonly string[]): void {
  const origin = headers.get("origin");
  const site = headers.get("sec-fetch-site");
  if (safe.includes(method) || allowed.includes("*")) return;
  if (origin !== null && allowed.includes(origin)) return;
  if (site === null ? origin === null || isOwn(origin, headers) : ownSites.includes(site)) return;
  throw new NodeError(
    "forbidden",
    `Pages of ${origin === null ? "another site" : quoted(origin)} may not ask this node. If they are to, add the origin to [http] cors_origins (PADDOCK_CORS_ORIGINS).`,
  );
}

/** `Sec-Fetch-Site` of a page of the same origin, and of an address that the user typed. */
const ownSites: readonly string[] = ["same-origin", "none"];

/** Browsers send no `Sec-Fetch-Site` over a network's plain HTTP. A proxy may change the host. */
function isOwn(origin: string, headers: Headers): boolean {
  const host = URL.parse(origin)?.host;
  const names = [headers.get("host"), headers.get("x-forwarded-host")];
  return host !== undefined && names.some((name) => name?.toLowerCase() === host);
}

/** Headers of proxies, tunnels and load balancers. One without any looks like a local program. */
const marks = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-server",
  "x-real-ip",
  "x-client-ip",
  "x-cluster-client-ip",
  "cf-connecting-ip",
  "true-client-ip",
  "fastly-client-ip",
  "fly-client-ip",
] as const;

/**
 * Rejects a request that a proxy forwarded to a node without keys. Such a node listens on loopback
 * for its own machine; a proxy on that machine would let the whole world in.
 */
export function checkForwarded({ headers }: Request, access: Pick<Access, "wantsKeys">): void {
  const mark = marks.find((name) => headers.has(name));
  if (mark === undefined || access.wantsKeys()) return;
  throw new NodeError(
    "keys_required",
    `A proxy passed this request on (it carries '${mark}'), and this node has no API key: everyone whom the proxy lets in could use it. Give a key out with 'paddock keys create NAME', set PADDOCK_API_KEYS (or [auth] api_keys), or write [auth] open = true to serve everyone.`,
  );
}

const methods = "GET, POST, DELETE, OPTIONS";
const exposed = [
  "retry-after",
  "x-request-id",
  "request-id",
  ...["limit", "remaining", "reset"].flatMap((part) =>
    ["requests", "tokens"].flatMap((what) => [
      `x-ratelimit-${part}-${what}`,
      `anthropic-ratelimit-${what}-${part}`,
    ]),
  ),
  "x-paddock-ignored",
  "x-paddock-retrieval",
  "x-paddock-notice",
  "x-paddock-max-file-bytes",
  "x-should-retry",
].join(", ");
const preflightSeconds = 600;

/** CORS headers, if origins are allowed. Never credentials: pages send keys in a header. */
export function corsHeaders(request: Request, origins: readonly string[]): Record<string, string> {
  if (origins.length === 0) return {};
  const isOpen = origins.includes("*");
  const vary = isOpen ? {} : { vary: "origin" };
  const origin = request.headers.get("origin");
  if (origin === null || !(isOpen || origins.includes(origin))) return vary;
  return {
    ...vary,
    "access-control-allow-origin": isOpen ? "*" : origin,
    "access-control-expose-headers": exposed,
  };
}

/** The answer to a preflight request of an allowed origin; undefined for any other request. */
export function answerPreflight(
  request: Request,
  origins: readonly string[],
): Response | undefined {
  const { method, headers } = request;
  const allowed = corsHeaders(request, origins);
  if (method !== "OPTIONS" || !headers.has("access-control-request-method")) return undefined;
  if (allowed["access-control-allow-origin"] === undefined) return undefined;
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": methods,
      // Clients send their own headers too, and outside of a browser none is rejected.
      "access-control-allow-headers": requested(headers),
      "access-control-max-age": String(preflightSeconds),
    },
  });
}

const known = ["authorization", "content-type", "accept", "x-request-id"];
const headerName = /^[a-z0-9-]{1,64}$/;

function requested(headers: Headers): string {
  const asked = (headers.get("access-control-request-headers") ?? "").toLowerCase().split(",");
  const names = asked.map((name) => name.trim()).filter((name) => headerName.test(name));
  return [...new Set([...known, ...names])].slice(0, 64).join(", ");
}
