/**
 * Pages of other origins, against cross-site request forgery. A browser sends a form, a file included,
 * to any address without asking there first, and a node without keys on loopback would take it.
 */
import { NodeError } from "../../core/errors.ts";
import { quoted } from "../../core/quoted.ts";

/** What changes nothing; without CORS no page reads the answer. */
const safe: readonly string[] = ["GET", "HEAD", "OPTIONS"];

/**
 * Refuses a request that may change something and comes from a page of an origin that is neither the
 * node's own nor allowed. Programs send none of these headers, and pages cannot leave them out.
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

/** As browsers call a page of the same origin, and a person who typed the address. */
const ownSites: readonly string[] = ["same-origin", "none"];

/** Browsers say nothing of the site to plain HTTP on a network. A proxy may have changed the host. */
function isOwn(origin: string, headers: Headers): boolean {
  const host = URL.parse(origin)?.host;
  const names = [headers.get("host"), headers.get("x-forwarded-host")];
  return host !== undefined && names.some((name) => name?.toLowerCase() === host);
}
