/** Parses IP addresses and ranges: `192.0.2.7`, `10.0.0.0/8`, `fd00::/8`. */

/** Whether an address is in the range; false for text that is not an address. */
export type AddressRange = (address: string) => boolean;

export function parseRange(text: string): AddressRange | undefined {
  const [first = "", length] = text.split("/");
  const from = parseAddress(first);
  const most = isIpv4(first) ? 32 : 128;
  const bits = length === undefined ? most : Number(length);
  if (from === undefined || length === "" || !Number.isInteger(bits)) return undefined;
  if (bits < 0 || bits > most) return undefined;
  const rest = BigInt(most - bits);
  return (address) => {
    const found = parseAddress(address);
    return found !== undefined && found >> rest === from >> rest;
  };
}

/** The address as a 128-bit number, IPv4 mapped to IPv6; undefined if it is not an address. */
export function parseAddress(text: string): bigint | undefined {
  const address = text.replace(/%.*$/, "");
  if (isIpv4(address)) return parseAddress(`::ffff:${address}`);
  // The URL parser validates the address and normalizes it: `[::ffff:c000:207]`.
  const host = URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1);
  if (host === undefined || !address.includes(":")) return undefined;
  const [head = "", tail] = host.split("::").map((part) => part.split(":").filter(Boolean));
  const zeros = tail === undefined ? [] : Array(8 - head.length - tail.length).fill("0");
  const groups = [...head, ...zeros, ...(tail ?? [])];
  return groups.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

const isIpv4 = (text: string): boolean =>
  /^\d{1,3}(\.\d{1,3}){3}$/.test(text) && text.split(".").every((part) => Number(part) < 256);

/** Whether only this machine can reach the host: `localhost`, `127.0.0.1`, `::1`, or `[::1]` as in a URL. */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/.test(host);
