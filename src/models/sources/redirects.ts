/** Checks redirects: none to a nearer network than the source's (SSRF), none from https to http. */
import { lookup as lookUp } from "node:dns/promises";
import { isIP } from "node:net";
import { parseRange } from "../../core/address-range.ts";
import { NodeError } from "../../core/errors.ts";

/** Resolves a host name; empty if it is unknown. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

const byDns: Lookup = (hostname) =>
  lookUp(hostname, { all: true }).then(
    (found) => found.map(({ address }) => address),
    // Behind a proxy, names may be resolved by the proxy only.
    () => [],
  );

/** Kinds of networks, the farthest first. */
const places = ["the internet", "a private network", "a link-local address", "this machine"];
const [farthest, nearest] = [0, places.length - 1];

export async function checkRedirect(
  { began, from, to }: Record<"began" | "from" | "to", string>,
  lookup: Lookup = byDns,
): Promise<void> {
  const [start, source, target] = [new URL(began), new URL(from), new URL(to)];
  const way = `${source.host} redirects to`;
  if (source.protocol === "https:" && target.protocol !== "https:") {
    throw refusal(
      `${way} ${target.protocol}//${target.host}, from https to ${target.protocol.slice(0, -1)}: a model is not fetched over a connection that anybody can change.`,
    );
  }
  if (target.hostname === start.hostname) return;
  const place = Math.max(farthest, ...(await nearnessOf(target, lookup)));
  if (place === farthest) return;
  // Every address of the source must be as near: a hostile name may mix near and far ones.
  if (place <= Math.min(nearest, ...(await nearnessOf(start, lookup)))) return;
  throw refusal(
    `${way} ${target.host}, which is ${places[place]}: a source that is not there is not followed to it. Name that address as the source if you mean it.`,
  );
}

/** Whether a host, by one of its addresses, is in a private network or this machine. */
export const isNear = async (url: string, lookup: Lookup = byDns): Promise<boolean> =>
  (await nearnessOf(new URL(url), lookup)).some((place) => place > farthest);

/** The nearness of each address of a host; an unknown host counts as far. */
async function nearnessOf({ hostname }: URL, lookup: Lookup): Promise<number[]> {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (isIP(host) !== 0) return [nearness(host)];
  if (/(^|\.)localhost$/i.test(host)) return [nearest];
  const addresses = await lookup(host);
  return addresses.length === 0 ? [farthest] : addresses.map(nearness);
}

/** In the order of `places`, without the internet. */
const networks = [
  // 100.64.0.0/10: carrier-grade NAT
  "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 198.18.0.0/15 fc00::/7",
  "169.254.0.0/16 fe80::/10",
  "127.0.0.0/8 0.0.0.0/8 ::/127",
].map((ranges) => ranges.split(" ").flatMap((range) => parseRange(range) ?? []));

function nearness(address: string): number {
  // NAT64 writes an IPv4 address into an IPv6 one in its own way: `64:ff9b::127.0.0.1`.
  const plain = address.replace(/^64:ff9b::/i, "::ffff:");
  return 1 + networks.findIndex((ranges) => ranges.some((isIn) => isIn(plain)));
}

const refusal = (message: string): NodeError => new NodeError("unavailable", message);
