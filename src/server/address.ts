/** The address that a request is for. On a raw socket it may be missing, or not be one. */
import { NodeError } from "../core/errors.ts";

const parsed = ({ url }: Request): URL | undefined => {
  const address = URL.parse(url);
  return address?.protocol === "http:" || address?.protocol === "https:" ? address : undefined;
};

/** The path, or where the address cannot be parsed all of it. */
export const pathOf = (request: Request): string => parsed(request)?.pathname ?? request.url;

/** Refuses a request whose address cannot be parsed. */
export function checkAddress(request: Request): void {
  if (parsed(request) !== undefined) return;
  throw new NodeError(
    "invalid_request",
    "The address of the request cannot be parsed. Check its 'Host' header and its path.",
  );
}

/** HTTP/1.0 has no Host header, and its requests are for who listens. */
export function withHost(request: Request, origin: string): Request {
  const { url, method, headers, body, signal } = request;
  if (headers.has("host") || !url.startsWith("/")) return request;
  // Not the request itself as the second argument: its signal would not come along.
  return new Request(`${origin}${url}`, { method, headers, body, signal });
}
