/** The address that a request is for, and what is said where nothing is there. */
import { Type as T } from "@sinclair/typebox";
import { NodeError } from "../core/errors.ts";
import type { ErrorFormat } from "./middleware/errors.ts";

/** On a raw socket the address may be missing, or not be one. */
const parsed = ({ url }: Request): URL | undefined => {
  const address = URL.parse(url);
  return address?.protocol === "http:" || address?.protocol === "https:" ? address : undefined;
};

/** The path, or where the address cannot be parsed all of it. */
export const pathOf = (request: Request): string => parsed(request)?.pathname ?? request.url;

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

interface Route {
  method: string;
  path: string;
}

export function allowedMethods(routes: readonly Route[], pathname: string): string[] {
  const methods = routes
    .filter(({ path }) => isAddressOf(path, pathname))
    .map(({ method }) => method.toUpperCase());
  return [...new Set(methods)].sort();
}

/** Tells a wrong method on a known address from an unknown address. */
export function missingRoute(request: Request, allowed: readonly string[]): NodeError {
  const pathname = pathOf(request);
  const absent = absentApi(pathname);
  if (absent !== undefined) {
    const message = `There is nothing at ${request.method} ${pathname}. ${absent.why}`;
    return new NodeError("not_found", message);
  }
  if (allowed.length > 0) {
    return new NodeError(
      "method_not_allowed",
      `${request.method} is not possible at ${pathname}; use ${allowed.join(" or ")}.`,
    );
  }
  return new NodeError(
    "not_found",
    `There is nothing at ${request.method} ${pathname}. The API is under /v1; /docs describes it.`,
  );
}

/** Whether an address is that of a route: `/v1/models/:id`. */
export function isAddressOf(path: string, pathname: string): boolean {
  const wanted = path.split("/");
  const found = pathname.replace(/(?<=.)\/$/, "").split("/");
  return (
    wanted.length === found.length &&
    wanted.every((part, index) => part.startsWith(":") || part === found[index])
  );
}

/** APIs that clients look for and this node does not have: they are told so in the form that they read. */
interface AbsentApi {
  addresses: RegExp;
  /** What is not done, and what to do instead. */
  why: string;
  /** Default: as the OpenAI API has them. */
  errorFormat?: ErrorFormat;
}

/** Its clients print `error` as it is. */
const ollamaErrors: ErrorFormat = {
  name: "OllamaError",
  schema: T.Object({ error: T.String() }),
  body: (_error, { message }) => ({ error: message }),
};

/** Clients of MCP print the description. */
const oauthErrors: ErrorFormat = {
  name: "OAuthError",
  schema: T.Object({ error: T.String(), error_description: T.String() }),
  body: (_error, { message }) => ({ error: "invalid_request", error_description: message }),
};

const absent: readonly AbsentApi[] = [
  {
    addresses: /^\/api\//,
    why: "This node does not have Ollama's API; choose the OpenAI provider of your program, with this node's address and /v1 as its base address.",
    errorFormat: ollamaErrors,
  },
  {
    addresses: /^\/(register|authorize|token|\.well-known\/(oauth-|openid-).*)$/,
    why: "This node has no OAuth and nobody signs in; an API key is missing or wrong. Send the header 'Authorization: Bearer <key>' to /mcp.",
    errorFormat: oauthErrors,
  },
  {
    addresses: /^\/v1\/responses\/compact$/,
    why: "This node does not compact conversations; send 'truncation': 'auto' to /v1/responses, which leaves out the oldest messages of one that is too long.",
  },
];

/** The API that an address would be of; undefined for every other address. */
export const absentApi = (pathname: string): AbsentApi | undefined =>
  absent.find(({ addresses }) => addresses.test(pathname));
