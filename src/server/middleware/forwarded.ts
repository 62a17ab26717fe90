/**
 * Requests that a proxy passed on. A node without keys listens on loopback and so is asked by its own
 * machine only; a proxy on that machine would let the whole world in.
 */
import { NodeError } from "../../core/errors.ts";

/** What proxies, tunnels and load balancers add. One that adds nothing cannot be told from a program here. */
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

export interface ForwardedRules {
  /** Whether requests must carry a key. */
  wantsKeys: () => boolean;
  /** Whether the configuration opens the node to everyone. */
  isOpen: boolean;
}

/** Refuses a request that a proxy passed on to a node that would ask nobody for a key. */
export function checkForwarded(
  request: Request,
  isHarmless: boolean,
  { wantsKeys, isOpen }: ForwardedRules,
): void {
  const mark = marks.find((name) => request.headers.has(name));
  if (mark === undefined || isHarmless || isOpen || wantsKeys()) return;
  throw new NodeError(
    "keys_required",
    `A proxy passed this request on (it carries '${mark}'), and this node has no API key: everyone whom the proxy lets in could use it. Give a key out with 'paddock keys create NAME', set PADDOCK_API_KEYS (or [auth] api_keys), or write [auth] open = true to serve everyone.`,
  );
}
