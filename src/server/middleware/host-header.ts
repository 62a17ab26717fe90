/**
 * The Host header, against DNS rebinding: a stranger's page can have its own name point to 127.0.0.1
 * and then ask whatever listens there, but its requests still name the stranger's host.
 */
import { NodeError } from "../../core/errors.ts";

/** What this machine calls itself. */
const own = /^(localhost|[a-z0-9.-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Refuses a request for a host that is neither this machine nor among those allowed. */
export function checkHost(request: Request, allowed: readonly string[]): void {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  const name = host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
  if (own.test(name) || allowed.some((other) => other.toLowerCase() === name)) return;
  throw new NodeError(
    "unknown_host",
    `This node listens on loopback, and answers to this machine's own names; the request is for '${shorten(host)}'. If that is one of its names, add it to [http] allowed_hosts (PADDOCK_ALLOWED_HOSTS).`,
  );
}

const longest = 80;

const shorten = (host: string): string =>
  host.length > longest ? `${host.slice(0, longest)}…` : host;
